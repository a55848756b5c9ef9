# shellcheck shell=bash
# The inside half of ./dev: runs in the Debian 13 root. Sourced by ./dev, which sets $project.

preset=${EMPI_PRESET:-release}
workdir=$PWD
say() { printf 'dev: %s\n' "$*" >&2; }

build() {
  local name=${1:-$preset}
  cd "$project"
  if [[ ! -e build/$name/build.ninja ]]; then
    say "configuring build/$name"
    cmake --preset "$name" >"/tmp/configure.log" 2>&1 || { cat /tmp/configure.log >&2; exit 1; }
  fi
  say "building build/$name"
  cmake --build "build/$name" "${@:2}"
}

# The built programs and libraries, found by their folder.
use_build() {
  local bin=$project/build/$preset/bin
  export PATH=$bin:$PATH
  : "${EMPI_DATA:=$(dirname "$project")/shared/data}"
  export EMPI_DATA
}

run_tests() {
  build "$preset"
  use_build
  cd "$project/build/$preset"
  # What is built a second time, with sanitizers, is built only when it is among the tests asked for.
  # (The whole list is taken first: under pipefail, a grep that stops reading early would fail its writer.)
  local cases
  cases=$(ctest --show-only "$@")
  if grep -qE ' (tsan|asan)\.' <<<"$cases"; then build "$preset" --target sanitized; fi
  cd "$project/build/$preset"
  ctest --output-on-failure --timeout 300 "$@"
}

main() {
  local command=$1
  shift
  case $command in
    build) build "$@" ;;
    test) run_tests "$@" ;;
    lint) exec bash "$project/scripts/lint.sh" "$@" ;;
    shell)
      use_build
      if [[ $# -gt 0 ]]; then exec bash -c "$*"; else exec bash; fi
      ;;
    run)
      build "$preset" >&2
      use_build
      cd "$workdir"
      exec "$@"
      ;;
    demo)
      build "$preset" >&2
      use_build
      exec bash "$project/scripts/demo.sh" "$@"
      ;;
    bench)
      build "$preset" >&2
      use_build
      exec bash "$project/scripts/bench.sh" "$@"
      ;;
  esac
}
