# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The inside half of ./dev: runs in the Debian 13 root. Sourced by ./dev, which sets $project.

preset=${EMPI_PRESET:-release}
say() { printf 'dev: %s\n' "$*" >&2; }

die() { say "$*"; exit 2; }

# shellcheck source=scripts/room.sh
source "${BASH_SOURCE[0]%/*}/room.sh"
# shellcheck source=scripts/lock.sh
source "${BASH_SOURCE[0]%/*}/lock.sh"
# shellcheck source=scripts/presets.sh
source "${BASH_SOURCE[0]%/*}/presets.sh"

# Runs COMMAND while nobody else configures or builds in build/PRESET: neither CMake nor ninja sees to that.
alone_in() { # PRESET COMMAND...
  local lock=$project/build/.$1.lock
  if ! { mkdir -p "$project/build" && : >>"$lock"; } 2>/dev/null; then # COMMAND says it better
    "${@:2}"
    return
  fi
  (
    take_lock 9 "works in build/$1" || true # no locks there: nobody can tell
    "${@:2}" 9>&-
  ) 9>>"$lock"
}

# Makes build/PRESET ready to build in. What stands against it is said before anything is compiled.
configure() { alone_in "$1" configure_here "$1" || exit; } # PRESET
configure_here() {
  local folder=$project/build/$1 free made_for fresh=()
  expect_preset "$1"
  { mkdir -p "$folder" && [[ -w $folder ]]; } 2>/dev/null ||
    die "cannot write the folder $folder: make it yours, or build in a clone elsewhere"
  has_room "$folder" 100 || die "no space is left in $folder: it has $free MB"
  if [[ -e $folder/build.ninja ]]; then
    made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
    if [[ $made_for -ef $project ]]; then return; fi
    say "build/$1 was made in ${made_for:-another folder}: it is made anew"
    fresh=(--fresh)
  fi
  say "configuring build/$1"
  (cd "$project" && cmake "${fresh[@]}" --preset "$1") >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
}

# build [PRESET] [ARGUMENTS of cmake --build]
build() {
  local name=${1:-$preset}
  configure "$name"
  say "building build/$name"
  alone_in "$name" cmake --build "$project/build/$name" "${@:2}" || not_built "$project/build/$name"
}

# not_built FOLDER: what a compiler says of a full disk is long. (Else it has said what is wrong.)
not_built() {
  local status=$? free folder
  for folder in "$1" "${CCACHE_DIR:-$1}" "${TMPDIR:-/tmp}"; do
    has_room "$folder" 20 || die "no space is left in $folder, it has $free MB: free some, and call it again; what is built stays"
  done
  return "$status"
}

# build_targets NAME...: of the preset in use. Without a name nothing is built.
build_targets() { if [[ $# -gt 0 ]]; then build "$preset" --target "$@" >&2; fi; }

# What any job on this machine takes.
runtime_targets=(empi elastic-mpi-agent elastic-mpi-sidecar elastic_mpi)

# What `./dev run COMMAND ARGUMENTS` takes: the programs of ours that the command line names, or a manifest or script
# on it; for other programs, the parts that jobs run in.
run_targets() { # COMMAND ARGUMENTS...
  local argument word words=()
  declare -A ours=() wanted=()
  while IFS= read -r word; do ours[$word]=1; done \
    < <(sed -nE 's/^build ([A-Za-z0-9_-]+): phony (bin|lib)\/[^/ ]*$/\1/p' "$project/build/$preset/build.ninja")
  [[ $1 == */* ]] || type -P -- "$1" >/dev/null || grep -qwF "bin/$1" "$project/build/$preset/build.ninja" ||
    die "run: there is no program of that name, neither of ours nor of Debian's: $1"
  for argument in "$@"; do
    mapfile -t -O "${#words[@]}" words < <(grep -oE '[A-Za-z0-9_-]+' <<<"$argument" || true)
    if [[ -f $argument && $(stat --dereference --format %s "$argument") -lt 1000000 ]]; then
      mapfile -t -O "${#words[@]}" words < <(grep -oIE '[A-Za-z0-9_-]+' "$argument" | sort -u)
    fi
  done
  for word in "${words[@]}"; do
    if [[ -n $word && -n ${ours[$word]:-} ]]; then wanted[$word]=1; fi
  done
  if [[ ${#wanted[@]} -eq 0 || -n ${wanted[empi]:-} ]]; then
    for word in "${runtime_targets[@]}"; do wanted[$word]=1; done
  fi
  printf '%s\n' "${!wanted[@]}"
}

demo_targets() { # ARGUMENTS of ./dev demo, which are refused here before anything is built
  local programs
  programs=$(bash "$project/scripts/demo.sh" --targets "$@") || exit
  [[ -z $programs ]] || tr ' ' '\n' <<<"${runtime_targets[*]} $programs"
}

# What a command builds before it runs, one name a line.
targets_of() { # COMMAND ARGUMENTS...
  case $1 in
    run) run_targets "${@:2}" ;;
    demo) demo_targets "${@:2}" ;;
    *) die "build --for: only run and demo have targets of their own, not '$1'" ;;
  esac
}

build_for() { # COMMAND ARGUMENTS...
  local targets
  configure "$preset"
  targets=$(targets_of "$@") || exit
  # shellcheck disable=SC2086  # one word each
  build_targets $targets
}

# What the user names is where the user is: the folders of results, and what is there already (sets $arguments).
take_arguments() {
  local before='' argument name value
  arguments=()
  for argument in "$@"; do
    name=$before value=$argument before=$argument
    if [[ $argument == --*=* ]]; then name=${argument%%=*} value=${argument#*=} before=; fi
    case $name in
      --out | --folder) value=$(realpath -m -- "$value") ;;
      *)
        # One word, or a number, may mean something else than a file of that name.
        if [[ -e $value && ($value == */* || $name == --data || ($name == --* && $value =~ [.][a-z])) ]]; then value=$(realpath -- "$value"); fi
        ;;
    esac
    if [[ $argument == --*=* ]]; then value=$name=$value; fi
    arguments+=("$value")
  done
}

# What is installed, as Debian packages: in the place of older ones when all are made.
debian_packages() {
  build "$preset" --target installed
  cd "$project"
  alone_in packages pack
}
pack() {
  local new=build/packages.new
  rm -rf "$new"
  mkdir -p "$new/made"
  # It leaves its own work beside the packages.
  if ! cpack --config "build/$preset/CPackConfig.cmake" -B "$new/work" >"$new/log" 2>&1; then
    cat "$new/log" >&2
    (exit 1) || not_built "$new"
  fi
  mv "$new"/work/*.deb "$new/made/"
  rm -rf build/packages
  mv "$new/made" build/packages
  rm -rf "$new"
}

# The built programs and libraries, found by their folder.
use_build() {
  local bin=$project/build/$preset/bin
  export PATH=$bin:$PATH
  : "${EMPI_DATA:=$(dirname "$project")/shared/data}"
  export EMPI_DATA
}

# Where the kernel shares the processors among sessions (autogroup), nice counts within a session only. EMPI_OWN_SESSION: this
# one is nobody else's, such as a user's terminal.
session_nice() { [[ -z ${EMPI_OWN_SESSION:-} ]] || { echo "$1" >/proc/self/autogroup; } 2>/dev/null || true; }

main() {
  local command=$1
  shift
  case $command in
    build)
      if [[ ${1:-} == --for ]]; then
        build_for "${@:2}"
      elif [[ ${2:-} == --for ]]; then
        preset=$1
        build_for "${@:3}"
      else
        build "$@"
      fi
      ;;
    package) debian_packages >&2 ;;
    clean) die 'clean: this is inside the Debian root, which is in use: call it from without' ;;
    test)
      if [[ ${1:-} == --openmpi || ${1:-} == --openmpi=* ]]; then
        # shellcheck source=scripts/openmpi.sh
        source "$project/scripts/openmpi.sh"
        if [[ $1 == *=* ]]; then set -- --openmpi "${1#*=}" "${@:2}"; fi
        run_openmpi_tests "${@:2}"
      else
        # shellcheck source=scripts/inside_tests.sh
        source "$project/scripts/inside_tests.sh"
        run_tests "$@"
      fi
      ;;
    lint) exec bash "$project/scripts/lint.sh" "$@" ;;
    fuzz)
      # shellcheck source=scripts/fuzz.sh
      source "$project/scripts/fuzz.sh"
      run_fuzzers "$@"
      ;;
    shell)
      use_build
      if [[ $# -gt 0 ]]; then exec bash -c "$*"; else exec bash; fi
      ;;
    run)
      [[ $# -gt 0 ]] || die 'run wants a command, for example: ./dev run empi --help'
      build_for run "$@"
      use_build
      exec "$@"
      ;;
    demo)
      build_for demo "$@"
      use_build
      take_arguments "$@"
      exec bash "$project/scripts/demo.sh" "${arguments[@]}"
      ;;
    bench)
      local targets
      targets=$(bash "$project/scripts/bench.sh" --targets "$@") || exit
      targets=" $targets "
      # shellcheck disable=SC2086  # one word each
      build_targets ${targets/ jobs / ${runtime_targets[*]} }
      use_build
      take_arguments "$@"
      exec bash "$project/scripts/bench.sh" "${arguments[@]}"
      ;;
  esac
}
