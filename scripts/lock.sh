# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Locks that go with their process. Sourced by both halves of ./dev, root.sh and inside.sh.

# take_lock DESCRIPTOR SOMEBODY: waits for SOMEBODY, who has it. Fails where the file system has no locks.
take_lock() {
  local status=0
  flock --nonblock --conflict-exit-code 75 "$1" 2>/dev/null || status=$?
  [[ $status == 75 ]] || return "$status"
  say "waiting for another ./dev that $2"
  flock "$1" 2>/dev/null
}
# The same of a file in the cache.
take_cache_lock() {
  take_lock "$@" || die "cannot lock in $cache, whose file system has no locks (flock): set EMPI_CACHE to a folder elsewhere"
}
