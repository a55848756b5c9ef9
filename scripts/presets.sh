# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The presets of CMake that can be built. Sourced by both halves of ./dev, root.sh and inside.sh, which have $project and
# die().

expect_preset() { # NAME
  grep -q "^ *\"name\": \"$1\"\|{ \"name\": \"$1\"" "$project/CMakePresets.json" ||
    die "there is no preset '$1': ./dev help names them"
}
