# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev fuzz: decoders and what is behind them, fed with what libFuzzer finds (cmake/fuzz.cmake). Sourced by inside.sh.

fuzz_usage() {
  cat <<'USAGE'
Usage: ./dev fuzz [--seconds N] [NAME...]   feeds each fuzzer (or those named) for N seconds (600), one on each core
       ./dev fuzz list                      the fuzzers, with what each feeds
What was tried is kept in build/fuzz/corpus/NAME, an input that ends a fuzzer in build/fuzz/findings/NAME-*.
USAGE
}

fuzzers() { # their sources by name
  (cd "$project" && find runtime operator -name '*_fuzz.cpp' | sort)
}

run_fuzzers() { # ARGUMENTS
  local seconds=600 names=() file name failed=0
  declare -A source_of=()
  while read -r file; do
    name=${file##*/}
    source_of[${name%_fuzz.cpp}]=$file
  done < <(fuzzers)
  while [[ $# -gt 0 ]]; do
    case $1 in
      -h | --help) fuzz_usage; return ;;
      list)
        while read -r file; do
          name=${file##*/}
          printf '%-10s %s\n' "${name%_fuzz.cpp}" "$(sed -n '2s|^// ||p' "$project/$file")"
        done < <(fuzzers)
        return
        ;;
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || die "fuzz: --seconds wants a number from 1, not '${2:-}'"
        seconds=$2
        shift
        ;;
      *)
        [[ -n ${source_of[$1]:-} ]] || die "fuzz: there is no fuzzer '$1': ./dev fuzz list"
        names+=("$1")
        ;;
    esac
    shift
  done
  if [[ ${#names[@]} == 0 ]]; then mapfile -t names < <(printf '%s\n' "${!source_of[@]}" | sort); fi
  build fuzz --target "${names[@]/#/fuzz_}"
  mkdir -p "$project/build/fuzz/findings"
  export -f fuzz_one
  export project seconds
  printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}' || failed=1
  return "$failed"
}

# A finding is reproduced by the same program with the file as its argument.
# shellcheck disable=SC2317  # xargs calls it
fuzz_one() { # NAME
  local log=$project/build/fuzz/$1.log
  if "$project/build/fuzz/bin/fuzz_$1" "$project/build/fuzz/corpus/$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$project/build/fuzz/findings/$1-" >"$log" 2>&1; then
    echo "fuzz $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    grep -m1 -E 'ERROR|runtime error|SUMMARY' "$log" >&2 || tail -n 3 "$log" >&2
    echo "fuzz $1: FOUND $(sed -n 's/.*Test unit written to //p' "$log"), log $log" >&2
    return 1
  fi
}
