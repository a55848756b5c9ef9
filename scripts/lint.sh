#!/usr/bin/env bash
# ./dev lint [--tidy]: formatting, shell scripts, layering, single homes of names. Runs inside the root.
# Prints `file:line: what is wrong` and exits 1 when anything is. --tidy adds clang-tidy (minutes).
set -euo pipefail
cd "$(dirname "$0")/.."

tidy=false
case ${1:-} in
  '') ;;
  --tidy) tidy=true ;;
  -h | --help)
    echo 'Usage: ./dev lint [--tidy]     --tidy adds clang-tidy, which needs ./dev build first'
    exit 0
    ;;
  *)
    echo "lint: unknown option '$1'; there is only --tidy" >&2
    exit 2
    ;;
esac

# A checkout of another user's is still ours to read.
git() { command git -c safe.directory="$PWD" "$@"; }
cxx=('*.hpp' '*.cpp' '*.h' '*.c')
failed=()

# Runs a check that prints what it finds; finding anything fails the lint.
check() {
  local name=$1 found
  shift
  found=$("$@" 2>&1) || found+=$'\n'"lint: $name did not run to its end"
  if [[ -n $found ]]; then
    printf '%s\n' "$found"
    failed+=("$name")
  fi
}

# Lines of tracked files that match, as file:line:text; none is fine.
lines() { git grep -nE "$@" || [[ $? -eq 1 ]]; }

tracked() {  # those that are there
  local file
  while read -r file; do [[ -e $file ]] && printf '%s\n' "$file"; done < <(git ls-files -- "$@")
}

formatting() {
  tracked "${cxx[@]}" | xargs -r -P "$(nproc)" -n 16 clang-format --dry-run -Werror --ferror-limit=1 2>&1 |
    grep -E '(error|warning): ' | sed -E 's/(error|warning): code should be clang-formatted.*/not formatted: clang-format -i does it/' || true
}

# Files without a #! line are sourced; they are checked where that happens, with the variables they get.
shell_scripts() {
  local scripts
  mapfile -t scripts < <(tracked dev .ci/run 'scripts/*.sh' '*.sh' | xargs grep -lE '^#!.*\b(bash|sh)$' -- | sort -u)
  shellcheck --external-sources --check-sourced --format=gcc "${scripts[@]}" || true
}

# Who may include whom. `allowed` is a pattern over the included path; the first folder that fits decides.
layering() {
  lines '^#include ["<]' -- "${cxx[@]}" | awk '
    function rule(folder, allowed, why) { folders[++n] = folder; patterns[n] = allowed; reasons[n] = why }
    BEGIN {
      mpi = "^(mpi|pmix[a-z_]*|elastic_mpi|elastic_master_worker)\\.hp*$"
      rule("operator/api/", "^operator/api/", "operator/api stands alone")
      rule("operator/decide/", "^(operator/(api|decide)|runtime/protocol)/|^runtime/profile/trend\\.hpp$", "deciding is pure: operator/api and runtime/protocol")
      rule("operator/build/", "^(operator/(api|build)|runtime/protocol)/", "building is pure: operator/api and runtime/protocol")
      rule("operator/", "^(operator|runtime/protocol)/|^runtime/profile/trend\\.hpp$", "the operator knows the runtime through runtime/protocol only")
      rule("runtime/protocol/", "^runtime/protocol/", "runtime/protocol is the lowest layer")
      rule("runtime/profile/", "^runtime/(protocol|profile)/", "runtime/profile stands on runtime/protocol")
      rule("runtime/", "^runtime/|^elastic_[a-z_]+\\.hp*$", "the runtime knows neither operator nor applications")
      rule("apps/", "^(apps|runtime/(include|redistribute))/|^runtime/protocol/names\\.hpp$|^elastic_(mpi|master_worker)\\.hp*$", "applications see runtime/include and runtime/redistribute")
      without_mpi = "^(operator|runtime/protocol|runtime/sidecar)/"
    }
    {
      split($0, part, ":"); file = part[1]; line = part[2]
      quoted = $0 ~ /#include "/
      path = $0; sub(/^.*#include ["<]/, "", path); sub(/[">].*$/, "", path)
      if (file ~ without_mpi && path ~ mpi) print file ":" line ": includes " path ": no MPI or PMIx here"
      if (!quoted || file ~ /(_test\.cpp$|\/testing\/|\/bench)/) next
      for (i = 1; i <= n; ++i) {
        if (index(file, folders[i]) != 1) continue
        if (path !~ patterns[i]) print file ":" line ": includes " path ": " reasons[i]
        break
      }
    }'
}

# Environment variables and metrics have one home each. Tests spell what users see.
single_homes() {
  local names
  lines '"EMPI_[A-Z_]+["=]' -- "${cxx[@]}" ':!runtime/protocol/names.hpp' ':!*_test.cpp' ':!*/testing/*' |
    sed -E 's/^([^:]+:[0-9]+):.*"(EMPI_[A-Z_]+).*/\1: spells \2: environment variables live in runtime\/protocol\/names.hpp/'
  names=$(grep -oE '"empi_[a-z_]+"' runtime/protocol/metrics.hpp | tr -d '"' | paste -sd '|')
  lines "\"($names)\"" -- "${cxx[@]}" ':!runtime/protocol/metrics.hpp' ':!*_test.cpp' ':!*/testing/*' |
    sed -E 's/^([^:]+:[0-9]+):.*/\1: spells a metric: metrics live in runtime\/protocol\/metrics.hpp/'
}

unfinished() {
  lines '\b(TODO|FIXME|XXX)\b' -- "${cxx[@]}" '*.sh' '*.txt' '*.cmake' '*.md' dev .ci ':!scripts/lint.sh' |
    sed -E 's/^([^:]+:[0-9]+):.*/\1: unfinished: do it, or write an issue/'
}

long_files() {
  tracked "${cxx[@]}" | xargs -r wc -l | awk '$2 != "total" && $1 > 450 { print $2 ":" $1 ": warning: " $1 " lines: it wants to be two files" }'
}

clang_tidy() {
  if [[ ! -e build/release/compile_commands.json ]]; then
    echo 'build/release/compile_commands.json: missing: run ./dev build first'
    return
  fi
  tracked '*.cpp' | xargs -r run-clang-tidy -p build/release -quiet 2>/dev/null | grep -E ': (warning|error): ' | sort -u || true
}

check formatting formatting
check 'shell scripts' shell_scripts
check layering layering
check 'single homes' single_homes
check unfinished unfinished
long_files
if $tidy; then check clang-tidy clang_tidy; fi

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'lint: %s: see above\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo 'lint: ok' >&2
