#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a user's own program, built against the installed product and put into an image by two lines, is resized and right
# images: operator runtime own
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

external=$project/runtime/sdk/testing/external
own=localhost/own:local
[[ -z ${EMPI_IMAGE_PREFIX:-} ]] || own=$(image own)
two_lines() { [[ $(grep -vc '^#' "$external/Containerfile") == 2 && $(sed -n 's/^FROM //p' "$external/Containerfile") == localhost/elastic-mpi-runtime:* ]]; }
expect 'its Containerfile has two lines, FROM the runtime image' two_lines

# As it stands in docs/malleable.md.
sed "s|localhost/own:local|$own|" "$external/own.yaml" | k apply -f - >/dev/null
runs own 1
k scale emj own --replicas=2 >/dev/null
runs own 2
k scale emj own --replicas=1 >/dev/null
ends own Succeeded 60
right() {
  worker_logs own | sed -n 's/.*own: 3 worlds, \([0-9]*\) steps, sum \([0-9]*\)$/\1 \2/p' |
    awk '$1 >= 100 && $2 == 1000 * $1 { found = 1 } END { exit !found }'
}
say "  $(worker_logs own | grep 'own: ')"
expect 'it has been in three worlds, and its sum is right' right
