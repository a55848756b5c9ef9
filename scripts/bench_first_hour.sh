# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev bench first-hour: what a newcomer waits for, on a Debian that has nothing but its minimal packages, with the
# README's commands. It fails where ./dev uses a program that is neither there nor brought. Sourced by root.sh, on the
# host. Figures go to stdout, notes to stderr.

first_hour_usage() {
  cat <<'USAGE'
Usage: ./dev bench first-hour [--debian 12|13] [--until root|build|picture|end] [--keep-ccache] [--keep-root] [--user]
  On a minimal Debian 12 and then 13, each with an empty cache (root is needed):
    first-hour.root            s until there is a Debian root
    first-hour.build_cpu       s of processor time to build what the demo needs
    first-hour.first_picture   s from the start until a picture is on disk while the job of the demo runs
    first-hour.total           s from the start until the demo has ended
  Of two Debians the longer times are printed. Packages come from the cache of this machine where it has them: they are
  fetched before the clock starts.
  --until build        as far as a built empi, which must answer --help
  --keep-ccache        with the compiler cache of this machine
  --keep-root          with the root that was made there before by the very same files of ./dev, unless there is none
  --user               the newcomer is an ordinary user, with the package uidmap; what is fetched is fetched meanwhile
USAGE
}

bench_first_hour() { # ARGUMENTS
  local debians=(12 13) until=end keep_ccache=false keep_root=false as_user=false debian
  while [[ $# -gt 0 ]]; do
    case $1 in
      --debian)
        [[ ${2:-} == 12 || ${2:-} == 13 ]] || die "bench first-hour: --debian wants 12 or 13, not '${2:-}'"
        debians=("$2")
        shift
        ;;
      --until)
        [[ ${2:-} =~ ^(root|build|picture|end)$ ]] || die "bench first-hour: --until wants root, build, picture or end, not '${2:-}'"
        until=$2
        shift
        ;;
      --keep-ccache) keep_ccache=true ;;
      --keep-root) keep_root=true ;;
      --user) as_user=true ;;
      -h | --help) first_hour_usage; return ;;
      *) die "bench first-hour: there is no option '$1': ./dev bench first-hour --help" ;;
    esac
    shift
  done
  [[ $(id -u) == 0 ]] || die 'bench first-hour: a machine of its own needs root: run it with sudo'
  if $keep_root && [[ $as_user == true || $until != build ]]; then die 'bench first-hour: --keep-root is for --until build, as root'; fi
  if $keep_ccache && $as_user; then die 'bench first-hour: the compiler cache is root'"'"'s: leave out --keep-ccache or --user'; fi
  check_this_machine
  : >"$cache/root.log"
  find_mmdebstrap || failed_root "$cache/none"

  packages_folder=${EMPI_PACKAGES:-$cache/packages}
  mkdir -p "$packages_folder" "$cache/first-hour"
  work=$(mktemp -d "$cache/first-hour/XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  declare -gA longest=()
  for debian in "${debians[@]}"; do newcomer "$debian" "$until" "$keep_ccache"; done
  for figure in root build_cpu first_picture total; do
    if [[ -n ${longest[$figure]:-} ]]; then echo "bench first-hour.$figure ${longest[$figure]} s"; fi
  done
}

# A Debian of that number as its makers call minimal, without what mmdebstrap alone adds to 12.
minimal_debian() { # 12|13
  local suite=bookworm folder include=usr-is-merged
  if [[ $1 == 13 ]]; then suite=trixie; fi
  folder=$cache/minimal-$suite
  if $as_user; then folder+=-uidmap include+=,uidmap; fi
  exec 9>"$cache/first-hour/lock"
  flock 9
  if [[ ! -e $folder/.complete ]]; then
    rm -rf --one-file-system "$folder"
    # shellcheck disable=SC2016
    run_mmdebstrap --mode=root --format=directory --variant=minbase --include="$include" \
      --customize-hook='chroot "$1" apt-get -y autoremove --purge usrmerge perl >&2' \
      "$suite" "$folder" || failed_root "$folder"
    touch "$folder/.complete"
  fi
  exec 9>&-
  cp -a "$folder" "$work/$1"
  if $as_user; then
    chroot "$work/$1" useradd --create-home newcomer
    chroot "$work/$1" usermod --add-subuids 100000-165535 --add-subgids 100000-165535 newcomer
  fi
}

# Sets $machine: the command that runs what is appended to it in the checkout on that machine.
use_machine() { # DEBIAN
  machine=(bash "$project/scripts/testing/minimal_machine.sh" "$work/$1" --bind "$packages_folder" /var/tmp/packages)
  if $as_user; then
    machine+=(--user newcomer -- env --chdir="$home/elastic mpi")
    return
  fi
  if $keep_ccache; then
    mkdir -p "$cache/ccache"
    machine+=(--bind "$cache/ccache" /root/.cache/elastic-mpi/ccache)
  fi
  machine+=(EMPI_PACKAGES=/var/tmp/packages -- env --chdir="$home/elastic mpi")
}

figure() { # NAME VALUE
  note "Debian $debian: $1 $2 s"
  if [[ -z ${longest[$1]:-} || $2 -gt ${longest[$1]} ]]; then longest[$1]=$2; fi
}

note() { printf 'note: %s\n' "$*" >&2; }

newcomer() { # DEBIAN UNTIL KEEP_CCACHE
  local debian=$1 until=$2 keep_ccache=$3 folder=$work/$1 started status=0 TIMEFORMAT='%U %S' job home=/root
  local without=(--exclude=./build --exclude=./out --exclude=./.git)
  if $as_user; then home=/home/newcomer; fi
  note "making a minimal Debian $debian"
  minimal_debian "$debian"
  mkdir -p "$folder$home/elastic mpi"
  # A cache in the checkout would be copied into itself.
  if below "$cache" "$project"; then without+=("--exclude=./${cache#"$project"/}"); fi
  tar -C "$project" -c "${without[@]}" . | tar -x -C "$folder$home/elastic mpi"
  if $as_user; then chroot "$folder" chown -R newcomer: "$home"; fi
  use_machine "$debian"
  if ! $as_user && [[ $until == picture || $until == end ]] && ! compgen -G "$packages_folder/*.deb" >/dev/null; then
    note 'fetching packages'
    "${machine[@]}" ./dev shell true >&2 || fail_hour 'there is no root'
    rm -rf --one-file-system "$folder$home"/.cache/elastic-mpi/root-*
  fi

  if ! $keep_root || ! take_kept_root; then
    # Killed while it makes the root, ./dev begins anew at the next call. The clock starts at that one.
    "${machine[@]}" bash scripts/testing/interrupted_root.sh "$home/started" >&2 || fail_hour 'there is no root'
    started=$(cat "$folder$home/started")
    figure root $((EPOCHSECONDS - started))
  fi
  if [[ $until == root ]]; then return; fi

  if [[ $until == build ]]; then
    { time "${machine[@]}" ./dev run empi --help >&3 2>&3; } 3>&2 2>"$work/time" || fail_hour 'empi --help does not run'
  else
    { time "${machine[@]}" ./dev build --for demo >&3 2>&3; } 3>&2 2>"$work/time" || fail_hour 'the demo cannot be built'
  fi
  figure build_cpu "$(awk 'END { printf "%.0f", $1 + $2 }' "$work/time")"
  if $keep_root; then keep_this_root; fi
  if [[ $until == build ]]; then return; fi

  "${machine[@]}" ./dev demo --out "$home/pictures" >&2 &
  job=$!
  wait_for 1800 "$job" 'there is a picture' has_picture "$folder$home/pictures"
  figure first_picture $((EPOCHSECONDS - started))
  if [[ $until == picture ]]; then
    kill -KILL "$job"
    wait "$job" 2>/dev/null || true
    return
  fi
  wait "$job" || status=$?
  [[ $status == 0 ]] || fail_hour "the demo ended with status $status"
  figure total $((EPOCHSECONDS - started))
}

# The cache of the machine on which it was made, by all that makes and enters roots. Whoever uses it has it for himself.
kept_root() {
  local of
  of=$(cd "$project" && cat dev scripts/*.sh scripts/testing/{interrupted_root,minimal_machine}.sh .ci/packages.txt | sha256sum)
  echo "$cache/first-hour/root-$debian-${of:0:16}"
}
# Whether there was one.
take_kept_root() {
  mkdir -p "$folder$home/.cache"
  mv -T "$(kept_root)" "$folder$home/.cache/elastic-mpi" 2>/dev/null || return 1
  note "Debian $debian: with the root that these files have made before"
}
keep_this_root() {
  mkdir -p "$work/older"
  mv -t "$work/older" "$cache/first-hour/root-$debian"-* 2>/dev/null || true # they go with $work
  rm -rf --one-file-system "$folder$home/.cache/elastic-mpi/ccache"
  mv -T "$folder$home/.cache/elastic-mpi" "$(kept_root)" || note 'the root is not kept: somebody else has kept one'
}

has_picture() { [[ -n $(find "$1" -name '*.png' -size +0 -print -quit 2>/dev/null) ]]; }

# wait_for SECONDS JOB WHAT COMMAND...: until COMMAND succeeds; JOB must still run then.
wait_for() {
  local deadline=$((SECONDS + $1)) job=$2 what=$3
  shift 3
  until "$@"; do
    kill -0 "$job" 2>/dev/null || fail_hour "the command ended before $what"
    if [[ $SECONDS -ge $deadline ]]; then
      kill -KILL "$job"
      fail_hour "gave up waiting until $what"
    fi
    sleep 0.2
  done
}

fail_hour() {
  say "bench first-hour: Debian $debian: $*"
  tail -n 5 "$work/$debian$home/.cache/elastic-mpi/root.log" 2>/dev/null >&2 || true
  exit 1
}
