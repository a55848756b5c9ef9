#!/usr/bin/env bash
# an operator that dies in front of every few writes brings a job through start, grow, shrink and end all the same
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-crash-XXXXXX")
loop=
end_loop() {
  touch "$folder/over"
  if [[ -n $loop ]]; then
    pkill -P "$loop" || true
    wait "$loop" || true
  fi
  loop=
}
case_repair() {
  end_loop
  rm -rf "$folder"
  start_operator
} 2>/dev/null
openssl rand -hex 32 >"$folder/key"
stop_operator

# The first process dies in front of its first write, the next one in front of its second, and so on: nothing can be
# lost that matters. After a dozen it begins again at 7, the least with which a process can make a pod: it raises the
# fence, tries the template, and applies Secret, Service and NetworkPolicy before.
crash_loop() {
  local write=0 status
  while [[ ! -e $folder/over ]]; do
    write=$((write < 12 ? write + 1 : 7)) status=0
    (own_operator "$folder/key" "$folder/log" --crash-at-write $write) || status=$?
    [[ $status == 70 || -e $folder/over ]] || { echo "an operator ended with $status" >>"$folder/log"; sleep 0.5; }
  done
}
crash_loop &
loop=$!
job fixed 400
job unlucky 400
runs unlucky 2 120
k scale emj unlucky --replicas=3 >/dev/null
runs unlucky 3 120
iterates unlucky
k scale emj unlucky --replicas=1 >/dev/null
runs unlucky 1 120
ends unlucky Succeeded 120
ends fixed Succeeded 120
end_loop
expect 'no worker was made twice, none was lost' job_is unlucky '.status.nextIndex == 3 and .status.restarts == 0'
expect 'the last change was the shrink' job_is unlucky '.status.lastResize | .from == 3 and .to == 1 and .result == "Committed"'
expect 'both have the same answer' test "$(fingerprint fixed)" = "$(fingerprint unlucky)"
crashes=$(grep -c '^crash at write' "$folder/log")
expect "the operator died at least twenty times: $crashes" test "$crashes" -ge 20
say 'in front of:'
sed -nE 's/^crash at write [0-9]+: ([a-z_]+ [a-z/]+) .*/  \1/p' "$folder/log" | sort | uniq -c >&2
expected_log='^crash at write|the lead is not known yet|stopping'
unexpected=$(unexpected_lines <"$folder/log")
expect "its log has nothing unexpected: $unexpected" test -z "$unexpected"
