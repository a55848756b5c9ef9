# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The outside half of ./dev: makes the Debian 13 root once, then re-runs ./dev inside it.
# Sourced by ./dev, which sets $project.

# A program's standard input may be closed; nothing here is to get its place.
{ : <&0; } 2>/dev/null || exec </dev/null
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # an ordinary user's may lack them

# What is wrong with what was asked, or with the machine: one line that says what to do.
die() { printf 'dev: %s\n' "$*" >&2; exit 2; }
say() { printf 'dev: %s\n' "$*" >&2; }

cache=${EMPI_CACHE:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}}
[[ -n $cache ]] || die 'HOME is not set: set it, or EMPI_CACHE to the folder for the Debian root'
[[ -n ${EMPI_CACHE:-} ]] || cache=$cache/elastic-mpi
cache=$(realpath -m -- "$cache")
suite=trixie
if [[ -n ${EMPI_PACKAGES:-} ]]; then EMPI_PACKAGES=$(realpath -m -- "$EMPI_PACKAGES"); fi
if [[ -n ${EMPI_DATA:-} ]]; then EMPI_DATA=$(realpath -m -- "$EMPI_DATA"); fi # one name for it everywhere

# choose_root LIST: the root that holds the packages of LIST (sets $packages and $root).
# A root is identified by what is in it, so that a change of the package list makes a new one.
choose_root() {
  packages=$(grep -v '^#' "$project/.ci/$1" | paste -sd, -)
  local with=${EMPI_WITH:-}
  [[ $with =~ ^([a-z0-9][a-z0-9+.-]*([ ,]|$))*$ ]] || die "EMPI_WITH: '$with' are no names of Debian packages: such as 'lammps gdb'"
  if [[ -n $with ]]; then packages+=,${with// /,}; fi
  root=$cache/root-$suite-$(printf '%s' "$packages" | sha256sum | cut -c1-12)
}
choose_root packages.txt
calico_packages='ipset conntrack' # beside packages-e2e.txt: what Calico's agent calls on a node

# shellcheck source=scripts/room.sh
source "$project/scripts/room.sh"
# shellcheck source=scripts/lock.sh
source "$project/scripts/lock.sh"
# shellcheck source=scripts/why_no_packages.sh
source "$project/scripts/why_no_packages.sh"
# shellcheck source=scripts/presets.sh
source "$project/scripts/presets.sh"
# shellcheck source=scripts/machine.sh
source "$project/scripts/machine.sh"
# shellcheck source=scripts/make_root.sh
source "$project/scripts/make_root.sh"
# shellcheck source=scripts/reach.sh
source "$project/scripts/reach.sh"

in_namespaces() {
  if [[ $(id -u) == 0 ]]; then "$@"; else unshare --map-auto --map-root-user -- "$@"; fi
}

# With mounts and processes of its own, which end with us.
in_own_namespaces() {
  local ns=(--mount --mount-proc --pid --fork --kill-child)
  if [[ $(id -u) != 0 ]]; then ns+=(--map-auto --map-root-user); fi
  setpriv --pdeathsig KILL unshare "${ns[@]}" -- "$@"
}

# Sets $enter: the command that makes the root / and runs what is appended to it, after its own NAME=VALUE...
# and --. It wants a mount namespace of its own.
prepare_enter() {
  local options=() name folder
  choose_folders
  for folder in "${bound[@]}"; do options+=(--bind "$folder"); done
  for folder in "${read_only[@]}"; do options+=(--read-only "$folder"); done
  for name in HOME TMPDIR TERM COLORTERM NO_COLOR CI COLUMNS LINES \
    http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE GIT_SSL_CAINFO REQUESTS_CA_BUNDLE \
    GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB \
    KUBECONFIG XDG_STATE_HOME; do
    if [[ -n ${!name:-} ]]; then options+=("$name=${!name}"); fi
  done
  # Ours, and what the user has set of MPI.
  while IFS= read -r name; do options+=("$name=${!name}"); done < <(compgen -v | grep -E '^(EMPI|OMPI_MCA|PMIX_MCA|PRTE_MCA)_' || true)
  # Caches of the build are in ours, not at home; mpirun's files, named by process ids that come again in each root,
  # are in a folder that goes with it.
  options+=(CCACHE_DIR=/cache/ccache CCACHE_MAXSIZE=5G
    PRTE_MCA_prte_tmpdir_base=/run EMPI_INSIDE_ROOT="$project")
  enter=(bash "$project/scripts/enter.sh" "$root" "$cache" "$PWD" "${options[@]}")
}

# pivot_root in namespaces of our own; the folders of the machine appear at their own paths, so that results, paths in
# compiler messages and editors agree inside and outside. Runs COMMAND there and ends as it does. It has our process group, so that
# a terminal's Ctrl-C and Ctrl-Z reach it; signals that are for us alone are passed on. Whatever way we end,
# everything inside ends: process 1 is killed with unshare, and unshare with us.
enter_root() {
  local status=0
  run_in_root "$@" || status=$?
  exit "$status"
}

run_in_root() {
  local ns=(--mount --pid --fork --kill-child)
  if [[ $(id -u) != 0 ]]; then ns+=(--map-auto --map-root-user); fi
  prepare_enter
  local status=0
  ended_by=
  trap 'end_inside TERM' TERM
  trap 'end_inside HUP' HUP
  trap 'in_foreground || end_inside INT' INT
  # A shell's background commands ignore Ctrl-C and read nothing unless told otherwise.
  env --default-signal=INT,QUIT setpriv --pdeathsig KILL \
    unshare "${ns[@]}" -- "${enter[@]}" -- "$@" <&0 &
  inside=$!
  # A signal ends a wait early; afterwards the shell still knows how the command ended.
  while kill -0 "$inside" 2>/dev/null; do wait "$inside" 2>/dev/null || true; done
  wait "$inside" 2>/dev/null || status=$?
  trap - TERM HUP INT
  if [[ -n $ended_by ]]; then kill -s "$ended_by" "$BASHPID"; fi
  return "$status"
}

# Whether the terminal's Ctrl-C goes to our process group: then the command inside has had it already.
in_foreground() {
  local stat
  read -r stat </proc/$$/stat
  read -ra stat <<<"${stat##*) }" # state, parent, group, session, terminal, the terminal's group
  [[ ${stat[4]} != 0 && ${stat[2]} == "${stat[5]}" ]]
}

# Ends what runs inside. A program that handles the signal itself is asked and has five seconds; process 1 of a
# namespace that does not would never notice it, and is killed.
end_inside() {
  local signal=$1 first mask tries=0
  first=$(cat "/proc/$inside/task/$inside/children") || true
  first=${first%% *}
  if [[ -n $first && -z $ended_by ]]; then
    # sed reads the file in one piece; `read` would not, and its lines move while the process runs.
    while read -r mask; do
      if (((0x$mask >> ($(kill -l "$signal") - 1)) & 1)); then
        kill -s "$signal" "$first" || true
        tries=50
        break
      fi
    done < <(sed -nE 's/^Sig(Blk|Cgt):\t//p' "/proc/$first/status")
  fi
  while ((tries-- > 0)); do
    kill -0 "$inside" || return 0 # by itself: its status is ours
    sleep 0.1
  done
  ended_by=$signal
  kill -KILL "$inside" || true
} 2>/dev/null # the shell's own remark on a child that was killed is no news

main() {
  case ${1:-help} in
    help | -h | --help) usage; exit 0 ;;
    e2e)
      # shellcheck source=scripts/e2e.sh
      source "$project/scripts/e2e.sh"
      "$@"
      exit
      ;;
    images)
      # shellcheck source=scripts/images.sh
      source "$project/scripts/images.sh"
      "$@"
      exit
      ;;
    package)
      # shellcheck source=scripts/package.sh
      source "$project/scripts/package.sh"
      "$@"
      exit
      ;;
    bench)
      # Those on machines of their own start from the host, as ./dev e2e does.
      if [[ ${2:-} == k8s-* ]]; then
        # shellcheck source=scripts/bench_k8s.sh
        source "$project/scripts/bench_k8s.sh"
        bench_k8s "${@:2}"
        exit
      elif [[ ${2:-} == first-hour ]]; then
        # shellcheck source=scripts/bench_first_hour.sh
        source "$project/scripts/bench_first_hour.sh"
        bench_first_hour "${@:3}"
        exit
      fi
      ;;
    clean)
      # shellcheck source=scripts/clean.sh
      source "$project/scripts/clean.sh"
      "$@"
      exit
      ;;
    test)
      # shellcheck source=scripts/test.sh
      source "$project/scripts/test.sh"
      run_tests "${@:2}"
      exit
      ;;
    build | demo | fuzz | shell | lint | run) ;;
    *)
      die "unknown command '$1': ./dev help lists them" ;;
  esac
  # Nobody waits for a root to hear of this.
  answer_without_root "$@"
  case $1 in demo | bench) (cd "$project" && bash "scripts/$1.sh" --targets "${@:2}") >/dev/null || exit ;; esac
  case $1 in demo | run | bench)
    choose_folders
    check_outputs "${@:2}"
    ;;
  esac
  ensure_root
  case $1 in demo | run | bench)
    choose_folders
    check_paths "${@:2}"
    ;;
  esac
  enter_root "$project/dev" "$@"
}

# Ends ./dev where the words are answered, or refused, by what is in the checkout.
answer_without_root() { # COMMAND ARGUMENTS...
  case "$1 ${2:-}" in
    'bench list' | 'bench ' | 'bench -h' | 'bench --help' | 'lint -h' | 'lint --help')
      (cd "$project" && bash "scripts/$1.sh" "${@:2}")
      exit
      ;;
    'fuzz list' | 'fuzz -h' | 'fuzz --help')
      # shellcheck source=scripts/fuzz.sh
      source "$project/scripts/fuzz.sh"
      run_fuzzers "${@:2}"
      exit
      ;;
    'build -h' | 'build --help') usage; exit 0 ;;
    'build ' | 'build --for') ;;
    'build '*) expect_preset "$2" ;;
    'run ') die 'run wants a command, for example: ./dev run empi --help' ;;
    demo*)
      if [[ " ${*:2} " == *' -h '* || " ${*:2} " == *' --help '* ]]; then
        (cd "$project" && bash scripts/demo.sh "${@:2}")
        exit
      fi
      ;;
  esac
}

usage() {
  cat <<'EOF'
Usage: ./dev COMMAND [ARGS]

  demo [--full] [--out DIR]    a tsunami that grows and shrinks while it runs, on this machine
  demo tohoku [--full] [--out DIR]   the tsunami of Tohoku 2011, beside two buoys; needs measured data
  demo spe10 [--full] [--out DIR] [--layers N|all]    an oil reservoir that finds its size
  demo surrogate [--full] [--out DIR]   a Bayesian inverse problem: obstacles found in a fluid channel
  demo queue [--full] [--out DIR]   five tsunamis that share one machine: who starts, who yields, who grows
  test [CTEST ARGS]            build and run every test, e2e beside; or those chosen (for example: ./dev test -R mesh)
  test fast|long|full          those below one second; those of up to an hour; all in every configuration
  test --openmpi VERSION       the runtime's on another Open MPI than Debian's (docs/openmpi.md)
  build [PRESET]               the programs: release (default), debug or full, into build/PRESET
  build --for run|demo ARGS    only what that command needs
  run CMD [ARGS]               run a command with the built programs on PATH (for example: ./dev run empi --help)
  bench NAME|list              print benchmark figures, one line each: bench NAME.FIGURE VALUE UNIT
  lint [--changed|--all]       formatting, shell scripts, layering; clang-tidy on what changed lately, or on all
  fuzz [--seconds N] [NAME...] decoders fed with what libFuzzer finds; fuzz list names them
  shell                        a shell inside the Debian 13 root
  e2e [CASE...]|list|up|help   whole-system cases on a real Kubernetes that it starts on this machine (root)
  images [NAME...]             container images of what is built, into build/images
  package                      Debian packages of what is built, the chart and its manifest, into build/packages
  clean [--all]                removes old Debian roots, or all that ./dev has put into its cache

Environment: EMPI_CACHE    where the Debian root and the compiler cache live (~/.cache/elastic-mpi)
             EMPI_DATA     a folder with chile2010/, tohoku2011/, spe10_model2/ (default: ../shared/data, then built-in)
             EMPI_WITH     more of Debian's packages, for programs of your own: a root with them is made beside the other (lammps)
             EMPI_PACKAGES a folder for Debian's packages: what is there is not fetched again when a root is made
             EMPI_PRESET   the preset that test, demo, run and bench use (release)
EOF
}
