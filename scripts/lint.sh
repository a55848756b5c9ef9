#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev lint [--changed|--all]: formatting, shell scripts, layering, single homes of names, citations. Runs inside the
# root.
# Prints `file:line: what is wrong` and exits 1 when anything is. --changed and --all add clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'USAGE'
Usage: ./dev lint              formatting, shell scripts, layering, names: half a minute
       ./dev lint --changed    of the shell scripts those that changed lately or source what did, and clang-tidy on the
                               sources that changed, newest first, for EMPI_LINT_SECONDS (300):
                               since EMPI_LINT_BASE (a commit), else since this branch left the main one of origin,
                               else within the four hours before the last commit
       ./dev lint --all        and clang-tidy on every source (an hour on two cores the first time, then what has
                               changed since; --tidy is the same)
USAGE
}

tidy=
case ${1:-} in
  '') ;;
  --all | --tidy) tidy=all ;;
  --changed) tidy=changed ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    echo "lint: unknown option '$1'; there are --changed and --all" >&2
    exit 2
    ;;
esac

# A checkout of another user's is still ours to read.
git() { command git -c safe.directory="$PWD" "$@"; }
cxx=('*.hpp' '*.cpp' '*.h' '*.c')
failed=()
of_lint=(':!scripts/lint.sh' ':!scripts/testing/lint_test.py') # what is wrong is spelt there
exec 3>&2

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
  if [[ $tidy == changed ]]; then mapfile -t scripts < <(changed_among "${scripts[@]}"); fi
  [[ ${#scripts[@]} != 0 ]] || return 0
  # What was clean is remembered beside the compiler cache, as it is of clang-tidy: one word for all that it depends on.
  local key clean file
  key=$({ shellcheck --version && printf '%s\n' "${SHELLCHECK_OPTS:-}" "${scripts[@]}" &&
    git ls-files --cached --others --exclude-standard -- dev .ci/run '*.sh' | while read -r file; do
      [[ ! -e $file ]] || sha256sum "$file"
    done; } | sha256sum) || return
  clean=${CCACHE_DIR:-build/ccache}/../shellcheck/${key%% *}
  [[ ! -e $clean ]] || return 0
  if shellcheck --norc --external-sources --check-sourced --format=gcc "${scripts[@]}"; then
    { mkdir -p "${clean%/*}" && : >"$clean"; } 2>/dev/null || true
  fi
}

# Of these scripts those that changed, and those that name a changed file, or one that names a changed file, and so on.
changed_among() { # SCRIPTS...
  local base before='' names
  base=$(lint_base) || { echo 'lint: which scripts have changed is not known: see above' >&2; return 1; }
  names=$(git diff --name-only "$base" | grep -E '(^dev|^\.ci/run|\.sh)$' | sort -u) || return 0
  until [[ $names == "$before" ]]; do
    before=$names
    names=$({ echo "$names"; tracked '*.sh' | xargs grep -lFf <(sed -n 's|.*\(/[^/]*\.sh\)$|\1|p' <<<"$names") -- || true; } | sort -u)
  done
  printf '%s\n' "$@" | grep -xF "$names" || true
}

# Who may include whom. `allowed` is a pattern over the included path; the first folder that fits decides.
layering() {
  lines '^#include ["<]' -- "${cxx[@]}" | awk '
    function rule(folder, allowed, why) { folders[++n] = folder; patterns[n] = allowed; reasons[n] = why }
    BEGIN {
      mpi = "^(mpi|pmix[a-z_]*|elastic_mpi|elastic_master_worker)\\.hp*$"
      rule("operator/api/", "^(operator/api|runtime/base)/", "operator/api stands on runtime/base only")
      rule("operator/decide/queue/", "^(operator/(api|decide)|runtime/base)/", "the scheduler of queues is pure: it knows jobs by their specs and statuses")
      rule("operator/simulate/full/", "^(operator/(api|decide|controller|simulate)|runtime/base)/", "a full simulation knows the scheduler, and no cluster")
      rule("operator/simulate/", "^(operator/(api|decide|simulate)|runtime/base)/", "simulating stands on what decides")
      rule("operator/decide/", "^(operator/(api|decide)|runtime/(base|protocol))/", "deciding is pure: operator/api and runtime/protocol")
      rule("operator/objects/", "^(operator/(api|objects)|runtime/(base|protocol))/", "building objects is pure: operator/api and runtime/protocol")
      rule("operator/controller/", "^(operator/(api|decide|objects|controller)|runtime/(base|protocol))/", "the controller knows neither agents nor clusters, only its interfaces to them")
      rule("operator/agents/", "^(operator/(api|decide|objects|controller|agents)|runtime/(base|protocol))/", "talking to agents knows no cluster")
      rule("operator/kube/", "^(operator/(api|decide|objects|controller|agents|kube)|runtime/(base|protocol))/", "the Kubernetes side knows no other")
      rule("operator/local/", "^(operator/(api|decide|objects|controller|agents|local)|runtime/(base|protocol))/", "the local side knows no other")
      rule("operator/programs/", "^(operator|runtime/(base|protocol))/", "the operator knows the runtime through runtime/protocol only")
      rule("runtime/base/", "^runtime/base/", "runtime/base is the lowest layer")
      rule("runtime/protocol/", "^runtime/(base|protocol)/", "runtime/protocol stands on runtime/base")
      rule("runtime/profile/", "^runtime/(base|protocol|profile)/", "runtime/profile stands on runtime/protocol")
      rule("runtime/queue/", "^runtime/(base|protocol|queue)/", "the queue knows neither MPI nor agents")
      rule("runtime/rank/", "^runtime/(base|protocol|profile/write|rank)/|^elastic_mpi\\.h$", "libelastic_mpi knows neither agent nor sdk")
      rule("runtime/checkpoint/", "^runtime/(base|checkpoint)/", "the file of a checkpoint knows neither MPI nor agents")
      rule("runtime/sdk/", "^runtime/(base|protocol|queue|checkpoint|sdk)/|^runtime/rank/(queue|recovery)_api\\.h$|^elastic_[a-z_]+(/[a-z]+)?\\.hp*$", "the sdk stands on libelastic_mpi and the queue")
      rule("runtime/agent/", "^runtime/(base|protocol|profile/read|agent)/", "the agent knows ranks by runtime/protocol and their pages")
      rule("runtime/quirks/", "^runtime/quirks/", "what Open MPI does is shown by itself")
      rule("runtime/sidecar/", "^runtime/(base|protocol|profile/read|sidecar)/", "the sidecar knows ranks by their pages, the agent by runtime/protocol")
      rule("apps/", "^apps/|^runtime/(base/|protocol/names\\.hpp$)", "applications see runtime/base and what is installed: runtime/sdk/include")
      without_mpi = "^(operator|runtime/protocol|runtime/sidecar)/"
    }
    {
      split($0, part, ":"); file = part[1]; line = part[2]
      quoted = $0 ~ /#include "/
      path = $0; sub(/^.*#include ["<]/, "", path); sub(/[">].*$/, "", path)
      if (file ~ without_mpi && path ~ mpi) print file ":" line ": includes " path ": no MPI or PMIx here"
      if (!quoted || file ~ /(_test\.cpp$|_bench\.cpp$|\/testing\/|\/bench\/)/) next
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

# What is cited exists: decisions and sources in docs/decisions.md, guides that sources name, files that guides link to.
citations() {
  local known file line word
  known=$(sed -nE 's/^### //p' docs/decisions.md | grep -oE "\b[RKPQ][0-9]+'?")
  lines -o "\b([Dd]ecisions? [RKP]|[Rr]ules? Q)[0-9]+('s|')?" -- ':!docs/decisions.md' "${of_lint[@]}" | while IFS=: read -r file line word; do
    word=${word%\'s} # "decision R12's window"
    grep -qxF "${word##* }" <<<"$known" || echo "$file:$line: cites $word, which docs/decisions.md does not have"
  done
  lines -o '\b[Ss]eed 00[0-9]' -- ':!docs/decisions.md' "${of_lint[@]}" | while IFS=: read -r file line word; do
    grep -qE "^\| ${word,} \|" docs/decisions.md || echo "$file:$line: cites $word, which is no source of docs/decisions.md"
  done
  known=$(sed -nE 's/^### ([a-z-]+)$/\1/p' docs/openmpi.md)
  lines -o '\bquirk ([a-z]+(-[a-z]+)+|han|cuda)\b' -- ':!docs/openmpi.md' "${of_lint[@]}" | while IFS=: read -r file line word; do
    grep -qxF "${word#quirk }" <<<"$known" || echo "$file:$line: cites $word, which docs/openmpi.md does not have"
  done
  lines -o '\bdocs/[A-Za-z0-9_-]+\.md\b' -- ':!*.md' "${of_lint[@]}" | while IFS=: read -r file line word; do
    [[ -e $word ]] || echo "$file:$line: names $word, which does not exist"
  done
  # shellcheck disable=SC2016  # the backticks are Markdown's
  tracked '*.md' | xargs awk '
    FNR == 1 { code = 0 }
    /^```/ { code = !code }
    code { next }
    {
      text = $0
      while (match(text, /\]\([^)]+\)/)) {
        target = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        sub(/#.*/, "", target)
        if (target != "" && target !~ /^[a-z]+:/) print FILENAME ":" FNR ":" target
      }
    }' | while IFS=: read -r file line word; do
    [[ -e $(dirname "$file")/$word ]] || echo "$file:$line: links to $word, which does not exist"
  done
}

# Code behind a line that ends with "... `FILE`:" or "... [FILE](path):" is that file's, in that order; it may leave lines
# out.
quotations() {
  # shellcheck disable=SC2016  # the backticks are Markdown's
  tracked '*.md' | xargs awk '
    FNR == 1 { code = 0; text = "" }
    /^```/ && code { code = 0; text = ""; if (source != "") close(source); next }
    /^```/ {
      code = 1; source = ""
      if (text ~ /[`\])]:$/ && match(text, /[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)+[`\])]:$/)) source = substr(text, RSTART, RLENGTH - 2)
      while (sub(/^\.\.\//, "", source)) {}
      if (source != "" && (getline line < source) < 0) source = ""
      else if (source != "") close(source)
      next
    }
    code && source != "" && NF {
      while ((found = getline line < source) > 0 && line != $0) {}
      if (found <= 0) { print FILENAME ":" FNR ": " source " has no such line, or not in this place"; close(source); source = "" }
    }
    !code && NF { text = $0 }'
}

# docs/protocol.md has a heading for each route of agent and sidecar, and no others.
routes() {
  local homes served described
  homes=$(cat runtime/protocol/*.hpp | tr -s '\n ' ' ' | grep -oE 'char k[A-Za-z]+\[\] = "/[^"]+"' | sed -E 's/char (k[A-Za-z]+)\[\] = "(.*)"/\1 \2/')
  served=$(grep -hoE '\b(Get|Put|Post|Delete)\((paths::k[A-Za-z]+|"/[^"]+")' runtime/agent/http_api.cpp runtime/sidecar/server.cpp |
    sed -E 's/\(/ /; s/"//g; s/paths:://' |
    awk -v homes="$homes" '
      BEGIN { n = split(homes, entry, "\n"); for (i = 1; i <= n; ++i) { split(entry[i], part, " "); path[part[1]] = part[2] } }
      { print toupper($1), ($2 in path ? path[$2] : $2) }' | sort -u)
  described=$(sed -nE 's/^### ((GET|PUT|POST|DELETE) [^ ]+).*/\1/p' docs/protocol.md | sort -u)
  { diff <(echo "$served") <(echo "$described") || [[ $? -eq 1 ]]; } |
    sed -nE 's/^< (.*)/docs\/protocol.md:1: lacks a heading for \1/p; s/^> (.*)/docs\/protocol.md:1: describes \1, which is not served/p'
}

# ./dev e2e list shows a promise for every case: the third line of its script.
promises() {
  local folder
  for folder in cluster host; do
    bash e2e/cases/run.sh "$folder" list | sed -nE "s/^([^ ]+) *(|SPDX.*)$/e2e\/cases\/$folder\/\1.sh:3: says nothing of what is promised/p"
  done
}

# Two classes of one qualified name are one too many: the linker does not tell.
duplicate_names() {
  local files
  mapfile -t files < <(tracked "${cxx[@]}")
  python3 scripts/duplicate_names.py "${files[@]}" || [[ $? -eq 1 ]]
}

# Text is for people, a branch reads an enum: nobody searches a reason for a word or compares an outcome with
# one. By the names such texts have here; Kubernetes' own words become enums in operator/kube.
prose() {
  local text='(reason|message|outcome|result|action|verdict|why|problem)_?(\(\))?'
  lines "\\b$text(\\.|->)(find|rfind|starts_with|ends_with)\\(|(\\.|->)$text *(==|!=) *\"[^\"]" -- "${cxx[@]}" \
    ':!operator/kube/' ':!*_test.cpp' ':!*_bench.cpp' ':!*/testing/*' ':!*/bench/*' |
    sed -E 's/^([^:]+:[0-9]+):.*/\1: decides by a text for people: have an enum say it/'
}

# Constants are kName: at namespace scope, where a declaration begins the line. One letter is a table's.
constants() {
  lines '^((inline|static|extern) )*(constexpr|const) ' -- "${cxx[@]}" ':!*_test.cpp' ':!*/testing/*' |
    sed -nE 's/^([^:]+:[0-9]+):((inline|static|extern) )*(constexpr|const) [^(={;]*[ *&>]([A-Za-z_][A-Za-z0-9_]+)(\[[^]]*\])* *[={;].*/\1 \5/p' |
    sed -nE '/ k[A-Z][A-Za-z0-9]*$/!s/^([^ ]+) (.*)/\1: \2: constants are kName/p'
}

# A header says whose it is, and what it is for, before anything else.
headers() {
  tracked '*.hpp' '*.h' | xargs -r awk '
    FNR == 1 && !/SPDX-License-Identifier: / { print FILENAME ":1: the licence comes first (SPDX-License-Identifier)" }
    FNR == 2 && !/^(\/\/| \*|\/\*)/ { print FILENAME ":2: a comment that says what the file is for comes before all else" }'
}

unfinished() {
  lines '\b(TODO|FIXME|XXX)\b' -- "${cxx[@]}" '*.sh' '*.txt' '*.cmake' '*.md' dev .ci "${of_lint[@]}" |
    sed -E 's/^([^:]+:[0-9]+):.*/\1: unfinished: do it, or write an issue/'
}

long_files() {
  tracked "${cxx[@]}" | xargs -r wc -l | awk '$2 != "total" && $1 > 450 { print $2 ":" $1 ": warning: " $1 " lines: it wants to be two files" }'
}

# The commit since which sources count as changed. A clone on which nothing was done since the last landing knows of
# that by the time only: what lands comes in an afternoon's work.
lint_base() {
  local base
  if [[ -n ${EMPI_LINT_BASE:-} ]]; then
    git rev-parse --verify --quiet "$EMPI_LINT_BASE^{commit}" && return
    echo "EMPI_LINT_BASE: there is no commit '$EMPI_LINT_BASE'" >&2
    return 1
  fi
  base=$(git merge-base origin/HEAD HEAD 2>/dev/null) || base=
  if [[ -n $base && $base != $(git rev-parse HEAD) ]]; then
    echo "$base"
    return
  fi
  base=$(git rev-list -1 --before="$(($(git log -1 --format=%ct) - 14400))" HEAD)
  if [[ -n $base ]]; then echo "$base"; else git rev-list --max-parents=0 HEAD | tail -n 1; fi
}

# Sources that are to be looked at, one a line: what changed last comes first. Of a header, the source beside it.
sources_to_tidy() {
  local base file
  if [[ $tidy == all ]]; then
    tracked '*.cpp'
    return
  fi
  base=$(lint_base) || return
  {
    git diff --name-only HEAD -- '*.cpp' '*.hpp'
    git log --name-only --format= "$base..HEAD" -- '*.cpp' '*.hpp'
  } | while read -r file; do
    for file in "${file%.*}.cpp" "${file%.*}_test.cpp"; do
      if [[ -e $file ]]; then echo "$file"; fi
    done
  done | awk '!seen[$0]++'
}

# Prints what clang-tidy says of each source that the build knows. It reads what CMake has noted of them, each by itself
# (preset apart); nothing need be built but the header that is generated. What was clean is remembered beside the
# compiler cache.
clang_tidy() {
  local sources options=()
  mkdir -p build
  { [[ -e build/apart/compile_commands.json ]] || cmake --preset apart; } >build/lint.log 2>&1 || { cat build/lint.log; return; }
  cmake --build build/apart --target crd_schemas >>build/lint.log 2>&1 || { cat build/lint.log; return; }
  sources=$(sources_to_tidy) || { echo 'lint: which sources have changed is not known: see above'; return; }
  [[ $tidy == all ]] || options=(--seconds "${EMPI_LINT_SECONDS:-300}")
  python3 scripts/tidy.py --build build/apart --known "${CCACHE_DIR:-build/ccache}/../clang-tidy" "${options[@]}" <<<"$sources" 2>&3 ||
    echo 'lint: clang-tidy was not run on all'
}

check formatting formatting
check 'shell scripts' shell_scripts
check layering layering
check 'single homes' single_homes
check citations citations
check quotations quotations
check routes routes
check promises promises
check 'duplicate names' duplicate_names
check prose prose
check unfinished unfinished
check headers headers
check constants constants
long_files
if [[ -n $tidy ]]; then check clang-tidy clang_tidy; fi

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'lint: %s: see above\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo 'lint: ok' >&2
