# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Locks that go with their process. Sourced by both halves of ./dev, root.sh and inside.sh.

# take_lock DESCRIPTOR FOLDER SOMEBODY REMEDY: waits for SOMEBODY, who has it; ends where the file system of FOLDER has no locks.
take_lock() {
  local status=0
  flock --nonblock --conflict-exit-code 75 "$1" 2>/dev/null || status=$?
  if [[ $status == 75 ]]; then
    say "waiting for another ./dev that $3"
    status=0
    flock "$1" 2>/dev/null || status=$?
  fi
  [[ $status == 0 ]] || die "cannot lock in $2, whose file system has no locks (flock): $4"
}
