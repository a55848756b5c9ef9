# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev test inside the root: builds what the chosen tests need, and runs them. Sourced by inside.sh.

# Without a number of its own, ctest runs four at a time for each core: most wait for processes; those that compute on several
# ranks count twice (PROCESSORS).
run_tests() { # [fast|long] ARGUMENTS of ctest
  local choice=(--label-exclude '^long$') jobs=() argument files nice=0 together=false
  local run=(ctest --output-on-failure --timeout 300 --output-junit)
  case ${1:-} in
    fast)
      choice=(--label-regex '^fast$' --no-tests=error)
      together=true
      shift
      ;;
    long)
      choice=(--label-regex '^long$' --no-tests=ignore)
      shift
      ;;
  esac
  jobs=(--parallel $((4 * $(nproc))))
  for argument in "$@"; do
    case $argument in
      -j* | --parallel*) jobs=() ;;
      -L* | --label-*) choice=() ;;
    esac
    # What only chooses leaves open how they are run.
    case $argument in -[RE]*) ;; -*) together=false ;; esac
  done
  configure "$preset"
  use_build
  cd "$project/build/$preset"
  for argument in "$@"; do
    case $argument in -N | --show-only*) exec ctest "${choice[@]}" "$@" ;; esac
  done
  # CMake runs again where a list of cases may have changed.
  alone_in "$preset" cmake --build . --target build.ninja >configure.log 2>&1 || { cat configure.log >&2; exit 1; }
  files=$(ctest --show-only=json-v1 "${choice[@]}" "$@" | python3 "$project/cmake/testing/needed.py")
  # With the cases on a cluster beside (scripts/test.sh), those come first: they wait for it.
  if [[ -n ${EMPI_BUSY_LOCK:-} ]]; then
    nice=10
    session_nice 10
  else
    files+=" ${EMPI_TEST_TARGETS:-}"
  fi
  # shellcheck disable=SC2086  # one word each
  alone_in "$preset" nice -n "$nice" cmake --build . --target all $files || not_built "$PWD"
  # What takes long starts early in a fresh clone, too.
  costs_known . || guess_costs .
  if [[ -n ${EMPI_BUSY_LOCK:-} ]]; then
    run_all_tests "$@"
  elif $together; then
    ctest --show-only=json-v1 "${choice[@]}" "$@" | python3 "$project/cmake/testing/together.py"
  else
    "${run[@]}" "$PWD/tests.xml" "${jobs[@]}" "${choice[@]}" "$@"
  fi
}

costs_known() { [[ -e $1/Testing/Temporary/CTestCostData.txt ]]; } # FOLDER
guess_costs() { # FOLDER
  mkdir -p "$1/Testing/Temporary"
  awk '/^[0-9]/ { print $2, 1, $1 }' "$project/cmake/testing/slow.txt" >"$1/Testing/Temporary/CTestCostData.txt"
}

# All of them, with the cases on a cluster beside (scripts/test.sh). What only computes begins at once, on the cores that the others
# leave, and may go on to the end. What waits for others would notice cases that run beside each other, and they it: it begins when
# each cluster has one case at a time. What computes on several ranks (label `ranks`) steps aside for all others; it begins when what
# only computes is over. What wants a quiet machine (label `quiet`) begins when the cases are over, and leaves half of it to those two.
run_all_tests() { # ARGUMENTS of ctest
  local status=0 checks='' failed=$PWD/Testing/Temporary/LastTestsFailed.log cores until=$((SECONDS + 5400))
  beside='' waiting='' ranks='' # for the trap, too
  cores=$(nproc)
  trap end_lanes EXIT
  rm -rf tests*.xml tests-fast*.txt "$failed" {beside,quiet,ranks}/Testing/Temporary/LastTestsFailed.log
  begin_checks
  make_lane beside
  make_lane quiet
  make_lane ranks
  ctest -N | sed -n 's/^ *Test *#\([0-9]*\): /\1:/p' >beside/numbers
  say "built; what computes, and what waits, runs beside the rest, and is told of at the end (build/$preset/beside.log, waiting.log)"
  in_lane nice -n 15 bash "$project/scripts/tests_beside.sh" "$@" >beside.log 2>&1 &
  beside=$!
  cases_are_over || say 'waiting for the cases on the cluster'
  until cases_are_over; do
    [[ -n $waiting || ! -e ${EMPI_CASES_ALONE:-} ]] || begin_waiting "$@"
    [[ -n $ranks ]] || kill -0 "$beside" 2>/dev/null || begin_ranks "$@"
    [[ $SECONDS -lt $until ]] || die 'the cases on the cluster have not ended after 90 minutes'
    sleep 1
  done
  # Where nobody has told that cases are alone, what waits runs before what wants a quiet machine.
  [[ -n $waiting ]] || {
    begin_waiting "$@"
    finish_waiting
  }
  finish_checks || worst $? # ./dev in tests would wait for it
  [[ -n $ranks ]] || begin_ranks "$@"
  "${run[@]}" "$PWD/tests-quiet.xml" --test-dir quiet --parallel $((9 * cores)) --label-regex '^quiet$' "$@" || worst $?
  say 'waiting for what computes or waits'
  finish_waiting
  wait "$beside" || worst $?
  beside=''
  cat beside.log
  wait "$ranks" || worst $?
  ranks=''
  cat ranks.log
  cat {beside,quiet,ranks}/Testing/Temporary/LastTestsFailed.log >>"$failed" 2>/dev/null || true
  # Few: once more, alone (e2e/cases/run.sh does the same).
  if [[ $status == "$tests_failed" && -s $failed && $(wc -l <"$failed") -le ${EMPI_ONCE_MORE:-0} ]]; then
    say "failed, and tried once more: $(cut -d: -f2 <"$failed" | paste -sd ' ')"
    status=0
    "${run[@]}" "$PWD/tests-again.xml" --rerun-failed || status=$?
  fi
  return "$status"
}
begin_waiting() { # ARGUMENTS of ctest
  session_nice 0
  in_lane "${run[@]}" "$PWD/tests.xml" --parallel $((3 * cores)) --label-exclude '^(long|computes|fast|quiet)$' "$@" >waiting.log 2>&1 &
  waiting=$!
}
begin_ranks() { # ARGUMENTS of ctest
  in_lane setsid bash -c "$steps_aside" bash "${run[@]}" "$PWD/tests-ranks.xml" --test-dir ranks --parallel "$cores" \
    --label-regex '^ranks$' "$@" >ranks.log 2>&1 &
  ranks=$!
}
finish_waiting() {
  [[ -n $waiting ]] || return 0
  wait "$waiting" || worst $?
  waiting=''
  cat waiting.log
}
cases_are_over() { flock --shared --nonblock "$EMPI_BUSY_LOCK" true; }
# Each ctest that runs beside another has its logs in a folder of its own. (Whoever asks for the numbers of the tests empties the
# first one's.)
make_lane() { # NAME
  mkdir -p "$1"
  echo "subdirs(\"$PWD\")" >"$1/CTestTestfile.cmake"
  costs_known "$1" || guess_costs "$1"
}
in_lane() { exec env --default-signal=INT,QUIT "$@"; } # in the background, where it would ignore Ctrl-C
# A session of its own, whose share is the least where the kernel shares the processors among sessions, and that leaves them at once
# to whoever wakes up.
# shellcheck disable=SC2016  # of the shell in there
steps_aside='{ echo 19 >/proc/self/autogroup; chrt --idle --pid 0 $$; } >/dev/null 2>&1 || true; exec nice -n 19 "$@"'
end_lanes() {
  local lane
  for lane in beside waiting ranks; do
    [[ -n ${!lane:-} ]] || continue
    { pkill -INT -P "${!lane}"; kill -INT "${!lane}"; } 2>/dev/null || true
    cat "$lane.log"
  done
}
# ctest's status when tests have failed, and nothing else; anything else is worse. (Above 128 somebody has ended all of it.)
tests_failed=8
worst() { # STATUS
  local of=$(($1 > 128 ? 1 : $1))
  [[ $status != 0 && $of == "$tests_failed" ]] || status=$of
}

# EMPI_TEST_TARGETS: what need not be there for a test, but must compile (.ci/run).
begin_checks() {
  [[ -n ${EMPI_TEST_TARGETS:-} ]] || return 0
  # shellcheck disable=SC2086,SC2016  # one word each; of the shell in there
  alone_in "$preset" bash -c 'exec env --default-signal=INT,QUIT nice -n 15 cmake --build . --target "$@" >checks.log 2>&1' \
    bash $EMPI_TEST_TARGETS &
  checks=$!
}
finish_checks() {
  [[ -n $checks ]] || return 0
  wait "$checks" && return
  local status=$?
  cat checks.log
  say "not built: $EMPI_TEST_TARGETS"
  (exit "$status") || not_built "$PWD"
}
