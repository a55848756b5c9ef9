# shellcheck shell=bash
# The outside half of ./dev: makes the Debian 13 root once, then re-runs ./dev inside it.
# Sourced by ./dev, which sets $project.

cache=${EMPI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/elastic-mpi}
suite=trixie
if [[ -n ${EMPI_DATA:-} ]]; then EMPI_DATA=$(realpath -m -- "$EMPI_DATA"); fi # inside, the current folder is another

# choose_root LIST: the root that holds the packages of LIST (sets $packages and $root).
# A root is identified by what is in it, so that a change of the package list makes a new one.
choose_root() {
  packages=$(grep -v '^#' "$project/.ci/$1" | paste -sd, -)
  root=$cache/root-$suite-$(printf '%s' "$packages" | sha256sum | cut -c1-12)
}
choose_root packages.txt

die() { printf 'dev: %s\n' "$*" >&2; exit 1; }
say() { printf 'dev: %s\n' "$*" >&2; }

# mmdebstrap is one Perl script: where it is not installed, the package is unpacked into the cache,
# which needs no privilege; installing it system-wide is left to the user.
find_mmdebstrap() {
  if command -v mmdebstrap >/dev/null; then
    mmdebstrap=mmdebstrap
    return
  fi
  mmdebstrap=$cache/tools/usr/bin/mmdebstrap
  if [[ -x $mmdebstrap ]]; then return; fi
  command -v apt-get >/dev/null || return 1
  say 'fetching mmdebstrap into the cache'
  mkdir -p "$cache/tools"
  (
    cd "$cache/tools"
    if ! apt-get download mmdebstrap >/dev/null 2>&1; then
      [[ $(id -u) == 0 ]] || exit 1
      apt-get update >/dev/null && apt-get download mmdebstrap >/dev/null
    fi
    dpkg -x mmdebstrap_*.deb .
  )
}

# An ordinary user needs a range of sub-ids and newuidmap to own the files of a whole system.
check_user_namespaces() {
  command -v newuidmap >/dev/null ||
    die 'making a Debian root as an ordinary user needs newuidmap: install the package uidmap (or run as root)'
  grep -q "^$(id -un):" /etc/subuid 2>/dev/null ||
    die "no sub-user-ids for $(id -un) in /etc/subuid: ask for 'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)'"
}

make_root_with_mmdebstrap() {
  local options=(--variant=apt --include="$packages"
    --aptopt='Apt::Install-Recommends "false"'
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*'
    --dpkgopt='path-include=/usr/share/doc/*/copyright'
    --dpkgopt='path-exclude=/usr/share/locale/*')
  if [[ $(id -u) == 0 ]]; then
    "$mmdebstrap" --mode=root "${options[@]}" "$suite" "$1" 2>&1 | progress
  else
    # mmdebstrap maps root to a sub-id; unpacked in our own mapping the files belong to us instead,
    # so that set-user-id programs in the root stay root's.
    check_user_namespaces
    mkdir -p "$1"
    "$mmdebstrap" --mode=unshare "${options[@]}" --format=tar "$suite" - 2> >(progress) |
      in_namespaces tar -x --numeric-owner --exclude='./dev/*' -C "$1"
  fi
}

make_root_with_engine() {
  local engine=$1 container
  container=$("$engine" create "debian:$suite" sh -c \
    "apt-get update && apt-get install -y --no-install-recommends ${packages//,/ }")
  "$engine" start --attach "$container" 2>&1 | progress
  mkdir -p "$2"
  "$engine" export "$container" | tar -x --no-same-owner -C "$2"
  "$engine" rm "$container" >/dev/null
}

# Shows that work goes on, without the noise of a package manager.
progress() {
  local line
  while IFS= read -r line; do
    case $line in
      I:* | E:* | W:* | Get:* | Fetched*) printf 'dev:   %.100s\n' "$line" >&2 ;;
    esac
    printf '%s\n' "$line" >>"$cache/root.log"
  done
}

ensure_root() {
  if [[ -e $root/.complete ]]; then return; fi
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  if [[ -e $root/.complete ]]; then exec 9>&-; return; fi
  say "making a Debian 13 root in $root (once, about a minute and 2 GB)"
  : >"$cache/root.log"
  local new=$root.new
  discard "$new"
  if find_mmdebstrap; then
    make_root_with_mmdebstrap "$new" || die "making the root failed; see $cache/root.log"
  elif command -v podman >/dev/null; then
    make_root_with_engine podman "$new" || die "making the root failed; see $cache/root.log"
  elif command -v docker >/dev/null; then
    make_root_with_engine docker "$new" || die "making the root failed; see $cache/root.log"
  else
    die 'needs mmdebstrap (Debian package), podman or docker to make a Debian 13 root: install one of them'
  fi
  in_namespaces touch "$new/.complete"
  mv "$new" "$root"
  exec 9>&-
}

in_namespaces() {
  if [[ $(id -u) == 0 ]]; then "$@"; else unshare --map-auto --map-root-user "$@"; fi
}

discard() { if [[ -e $1 ]]; then in_namespaces rm -rf --one-file-system "$1"; fi; }

# Sets $enter: the command that makes the root / and runs what is appended to it, after its own NAME=VALUE...
# and --. It wants a mount namespace of its own.
prepare_enter() {
  local keep=() name
  for name in TERM COLORTERM LANG NO_COLOR CI COLUMNS LINES \
    http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE GIT_SSL_CAINFO REQUESTS_CA_BUNDLE \
    GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB; do
    if [[ -n ${!name:-} ]]; then keep+=("$name=${!name}"); fi
  done
  while IFS= read -r name; do keep+=("$name=${!name}"); done < <(compgen -v EMPI_ || true)
  mkdir -p "$cache/ccache" "$cache/home"
  enter=(bash "$project/scripts/enter.sh" "$root" "$project" "$cache" "$PWD" "${keep[@]}")
}

# pivot_root in namespaces of our own; the project appears at its own path, so that paths in compiler messages
# and editors agree inside and outside. Runs COMMAND there and ends as it does. It has our process group, so that
# a terminal's Ctrl-C and Ctrl-Z reach it; signals that are for us alone are passed on. Whatever way we end,
# everything inside ends: process 1 is killed with unshare, and unshare with us.
enter_root() {
  local status=0
  run_in_root "$@" || status=$?
  exit "$status"
}

run_in_root() {
  local ns=(--mount --pid --fork --kill-child)
  if [[ $(id -u) != 0 ]]; then
    check_user_namespaces
    ns+=(--map-auto --map-root-user)
  fi
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
  if [[ -n $ended_by ]]; then kill -s "$ended_by" $$; fi
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
    bench)
      # Those on Kubernetes start from the host, as ./dev e2e does.
      if [[ ${2:-} == k8s-* ]]; then
        # shellcheck source=scripts/bench_k8s.sh
        source "$project/scripts/bench_k8s.sh"
        bench_k8s "${@:2}"
        exit
      fi
      ;;
    test)
      if ! chooses_tests "${@:2}"; then
        ensure_root
        run_in_root "$project/dev" "$@" || exit
        exec "$project/dev" e2e --or-skip
      fi
      ;;
    build | demo | shell | lint | run) ;;
    *)
      say "unknown command '$1'"
      usage >&2
      exit 2
      ;;
  esac
  ensure_root
  enter_root "$project/dev" "$@"
}

# Whether ctest's arguments choose among the tests: then those are all that is wanted.
chooses_tests() {
  local argument
  for argument in "$@"; do
    case $argument in -[RELIUN]* | --tests-* | --label-* | --exclude-* | --rerun-failed | --show-only* | --union) return 0 ;; esac
  done
  return 1
}

usage() {
  cat <<'EOF'
Usage: ./dev COMMAND [ARGS]

  demo [--quick] [--out DIR]   a tsunami that grows and shrinks while it runs, on this machine
  demo spe10 [--quick] [--out DIR] [--layers N|all]   an oil reservoir that finds its size
  demo surrogate [--quick] [--out DIR]   a Bayesian inverse problem: obstacles found in a fluid channel
  test [CTEST ARGS]            build and run every test, then e2e; or those chosen (for example: ./dev test -R mesh)
  build [PRESET]               release (default), debug, asan or tsan, into build/PRESET
  run CMD [ARGS]               run a command with the built programs on PATH (for example: ./dev run empi --help)
  bench NAME|list              print benchmark figures, one line each: bench NAME.FIGURE VALUE UNIT
  lint [--tidy]                formatting, shell scripts, layering; --tidy adds clang-tidy
  shell                        a shell inside the Debian 13 root
  e2e [CASE...]|list|up|help   whole-system cases on a real Kubernetes that it starts on this machine (root)
  images [NAME...]             container images of what is built, into build/images

Environment: EMPI_CACHE    where the Debian root and the compiler cache live (~/.cache/elastic-mpi)
             EMPI_DATA     a folder with chile2010/, tohoku2011/, spe10_model2/ (default: ../shared/data, then built-in)
             EMPI_PRESET   the preset that test, demo, run and bench use (release)
EOF
}
