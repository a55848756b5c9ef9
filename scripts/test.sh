# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev test: two lanes beside each other. Inside the root the tests that remain to be built, then ctest; on the host
# the cases on a Kubernetes, which mostly wait. Sourced by root.sh, on the host.

test_usage() {
  cat <<'USAGE'
Usage: ./dev test [CTEST ARGS]         builds and runs every test, and the cases on a Kubernetes (./dev e2e) beside them;
                                       with arguments that choose (-R, -L, ...), those only and only what they need
       ./dev test fast [CTEST ARGS]    every test that takes less than a second, a program at a time;
                                       with CTEST ARGS that do not only choose, each case by ctest
       ./dev test long [CTEST ARGS]    what takes up to an hour and is part of nothing else
       ./dev test full [CTEST ARGS]    as ./dev test, in every configuration that a test has, in build/full
       ./dev test --openmpi VERSION [CTEST ARGS]   what uses MPI in the runtime, on another Open MPI (docs/openmpi.md)
USAGE
}

# Whether these arguments choose among the tests: then those are all that is wanted.
chooses_tests() {
  local argument
  for argument in "$@"; do
    case $argument in
      fast | long | --openmpi* | -[RELIUN]* | --tests-* | --label-* | --exclude-* | --rerun-failed | --show-only* | --union) return 0 ;;
    esac
  done
  return 1
}

run_tests() { # ARGUMENTS of ./dev test
  case ${1:-} in
    -h | --help)
      test_usage
      return
      ;;
    full)
      export EMPI_PRESET=full
      shift
      ;;
    --openmpi | --openmpi=*) # refused before a root is made
      # shellcheck source=scripts/openmpi.sh
      source "$project/scripts/openmpi.sh"
      if [[ $1 == *=* ]]; then check_openmpi "${1#*=}"; else check_openmpi "${2:-}"; fi
      ;;
  esac
  ensure_root
  if chooses_tests "$@"; then enter_root "$project/dev" test "$@"; fi
  run_in_root "$project/dev" build "${EMPI_PRESET:-release}" || exit
  mkdir -p "$project/out"
  local cases_log=$project/out/e2e-cases.log lock failed=0
  lock=test-$(printf '%s' "$project" | sha256sum | cut -c1-8).lock
  # Tests that wait begin when no cases run beside each other any more, which a file says, and those that want a quiet machine
  # when all are over: the cases hold this lock as long as they run (scripts/inside_tests.sh).
  exec 7>"$cache/$lock"
  take_cache_lock 7 'tests this checkout'
  export EMPI_BUSY_LOCK=/cache/$lock EMPI_CASES_ALONE=$project/out/e2e/claims/.alone
  rm -f "$EMPI_CASES_ALONE"
  say 'the cases on a Kubernetes run beside the tests; what they say comes at the end'
  # A group of its own, for everything of it to be ended at once; a background command would ignore Ctrl-C. What is
  # built is taken as it is: the other lane builds in the same folder. The lock is this shell's, and nobody inherits it.
  # shellcheck disable=SC2016
  EMPI_IMAGE_BUILD=${EMPI_IMAGE_BUILD:-build/${EMPI_PRESET:-release}} env --default-signal=INT,QUIT setsid \
    bash -c '"$0" e2e --or-skip 7>&-; exit "$?"' "$project/dev" </dev/null >"$cases_log" 2>&1 &
  cases_lane=$!
  exec 7>&-
  trap end_cases EXIT
  run_in_root "$project/dev" test "$@" || failed=$?
  # Ended by a signal: the cases are ended, too.
  [[ $failed -le 128 ]] || exit "$failed"
  wait "$cases_lane" || failed=1
  trap - EXIT
  cat "$cases_log" >&2
  exit "$failed"
}

# shellcheck disable=SC2317  # a trap calls it
end_cases() {
  kill -INT -- "-$cases_lane" 2>/dev/null || true
  wait "$cases_lane" 2>/dev/null || true
}
