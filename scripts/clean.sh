# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev clean: gives back what ./dev has put into its cache. It takes a namespace to do so: an ordinary user's root belongs
# to the ids of a range. Sourced by root.sh, on the host.

clean_usage() {
  cat <<'USAGE'
Usage: ./dev clean          removes from the cache the Debian roots of other package lists than this checkout's (with EMPI_WITH:
                            and of those with others beside), and halves of roots. One that is missed is made again.
       ./dev clean --all    removes all that ./dev has put there: roots, the compiler cache, Kubernetes, images, packages
A root in which something runs stays; --all is refused then. What is built in this checkout is in build: rm -rf build
USAGE
}

clean() { # ARGUMENTS
  local everything=false removed=0 megabytes=0
  case ${1:-} in
    '') ;;
    --all) everything=true ;;
    -h | --help)
      clean_usage
      return
      ;;
    *) die "clean: there is no option '$1': ./dev clean --help" ;;
  esac
  [[ $# -le 1 ]] || die "clean: there is nothing for '$2' to say: ./dev clean --help"
  check_tools
  if [[ $(id -u) != 0 ]]; then check_user; fi
  if [[ -d $cache ]]; then
    [[ -w $cache ]] || die "clean: cannot write the folder $cache"
    lock_cache
    if $everything; then remove_all; else remove_old_roots; fi
  fi
  say "removed $megabytes MB from $cache ($removed files and folders)"
}

remove() { # PATH [NAME]
  local name=${2:-${1#"$cache/"}} size
  # (What it cannot read it leaves out.)
  size=$(in_namespaces du --summarize --block-size=M -- "$1" 2>/dev/null) || true
  size=${size%%M*}
  in_namespaces rm -rf --one-file-system -- "$1" || die "clean: $1 could not be removed"
  say "removed $name (${size:-0} MB)"
  removed=$((removed + 1)) megabytes=$((megabytes + ${size:-0}))
}

# Whether the system that a process sees is the one in FOLDER (sets $process).
in_use() { # FOLDER
  local file
  [[ -d $1/usr ]] || return 1
  for file in /proc/[0-9]*; do
    process=${file#/proc/}
    if [[ $file/root/usr -ef $1/usr ]]; then return 0; fi
  done
  return 1
}

remove_old_roots() {
  local folder with=${EMPI_WITH:-} process
  declare -A kept=()
  for EMPI_WITH in '' "$with"; do
    choose_root packages.txt && kept[$root]=yes
    choose_root packages-e2e.txt && kept[$root]=yes
    EMPI_WITH="${EMPI_WITH:+$EMPI_WITH }$calico_packages"
    choose_root packages-e2e.txt && kept[$root]=yes
  done
  # Nobody makes one while we have the lock.
  for folder in "$cache"/root-*.new; do
    if [[ -d $folder ]] && ! in_use "$folder"; then remove "$folder"; fi
  done
  for folder in "$cache"/root-*; do
    if [[ ! -d $folder || $folder == *.new || -n ${kept[$folder]:-} ]]; then continue; fi
    # Whoever comes now does not find it any more; who came before is seen.
    mv "$folder" "$folder.new"
    if in_use "$folder.new"; then
      mv "$folder.new" "$folder"
      say "${folder##*/} is in use, by process $process, and stays"
    else
      remove "$folder.new" "${folder##*/}"
    fi
  done
}

remove_all() {
  local path paths=() process
  for path in "$cache"/{*,.[!.]*}; do
    if [[ ! -e $path && ! -L $path ]]; then continue; fi
    case ${path##*/} in
      lock) ;; # it is held, and the last to go
      lost+found) ;; # of a file system of its own
      # The same names as where they are made; none but ours, for a user may have named any folder as the cache.
      root-* | minimal-* | first-hour | tools | packages | ccache | home | images | cluster | from | kubernetes | go | \
        clang-tidy | shellcheck | openmpi-* | openmpi.* | probe.* | test-*.lock | root.log | room) paths+=("$path") ;;
      *) die "clean --all: in $cache there is ${path##*/}, which ./dev has not put there: move it elsewhere" ;;
    esac
  done
  for path in "$cache"/root-* "$cache"/minimal-* "$cache"/first-hour/*/*; do
    ! in_use "$path" ||
      die "clean --all: ${path#"$cache/"} is in use, by process $process: wait for its end (that of a cluster: ./dev e2e down)"
  done
  for path in "${paths[@]}"; do remove "$path"; done
  rm -f "$cache/lock"
  rmdir "$cache" 2>/dev/null || true # somebody may have come meanwhile
}
