# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# How much room there is on a disk. Sourced by both halves of ./dev, root.sh and inside.sh.

# has_room FOLDER MEGABYTES: whether so much is free there, or nobody knows (of some file systems df says "-"). Sets $free
# (MB), or to nothing.
has_room() {
  free=$(df --output=avail --block-size=1 "$1" | tail -n1 | tr -dc 0-9)
  [[ -n $free ]] || return 0
  free=$((free / 1000000))
  [[ $free -ge $2 ]]
}
