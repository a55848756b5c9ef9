# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The operator's log after a case: every line must be of a kind that is always fine, or one that the case says it
# provokes ($expected_log, an extended regular expression). Sourced by operator.sh.

expected_log='^$'
log_from='' restarts_before=''

mark_log() {
  log_from=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  restarts_before=$(operator_restarts)
}
# Of each pod: its uid, how often its container was started anew, the exit status before the last time.
operator_restarts() {
  get_operators | jq -r '.items[] | .status.containerStatuses[0] as $it | "\(.metadata.uid) \($it.restartCount // 0) \($it.lastState.terminated.exitCode // "-")"'
}
lost_lease=75 # kLostLease of operator/programs/operator/manager.hpp
# crashes BEFORE AFTER: how many restarts nobody planned. An operator that could not renew its lease on a busy machine
# gives it up in good order. Of several restarts of a pod only the last one's reason is known: the others count.
crashes() {
  awk -v lost_lease="$lost_lease" 'NR == FNR { before[$1] = $2; next }
    { since = $2 - before[$1]; crashed += since > 0 && $3 == lost_lease ? since - 1 : since }
    END { print crashed + 0 }' <(echo "$1") <(echo "$2")
}

# With `all` also of a container before the present one: an operator that lost its lease is started anew.
operator_log() { # [all]
  local pod which containers=('')
  [[ ${1:-} != all ]] || containers=('&previous=true' '')
  for pod in $(operator_pods); do
    for which in "${containers[@]}"; do
      api "/api/v1/namespaces/$system/pods/$pod/log?sinceTime=$log_from$which" --max-time 60 2>/dev/null || true # of one that begins there is none
    done
  done
}

# What a line may be without further ado: events about jobs (NAMESPACE/NAME: Reason: message), decisions (NAME: Keep,
# ...), the operator's coming and going, writes that lost a race and are made again, events of a job whose namespace goes,
# a renewal of the lease that a busy API server did not answer in time: whoever lost the lead by that says so, and is
# restarted (crashes() looks at that); and a command that an agent on a busy node did not confirm in time, once: it is sent
# again, if need be when others that were slow have been asked, and the case waits for what comes of it. (Several in a row
# are told with their number.) So it is of a start that waits until the run before has been told to end.
always_fine='^(API server |leading|stopping|[a-z0-9-]+/[a-z0-9-]+: [A-Z][A-Za-z]+: |[a-z0-9-]+: (Keep|Wait|Recommend), )'
always_fine+='|writing the status: .*(404|409|has been modified|the job is gone|or was changed)|an event was not written: .*(404|because it is being terminated)|storage is \(?re\)?initializing'
always_fine+='|(reading|updating) leases .*: (Failed to read connection|SSL connection failed)|no longer the leader: the lease could not be renewed'
always_fine+='|^[a-z0-9-]+: .* at agent [][0-9a-f.:]+: no whole answer in time$'
always_fine+='|^[a-z0-9-]+: .*: its agent was slow to take the last command, and waits for its turn among such$'
always_fine+='|^[a-z0-9-]+: .*: its last program is being told to end$'

# The operator serves the cases beside this one, too: what one of them says it provokes may be in its log.
expected_beside() {
  local name
  for name in ${EMPI_CASES_BESIDE:-}; do sed -n "s/^ *expected_log='\([^']*\)'.*/\1/p" "$(dirname "${BASH_SOURCE[0]}")/../$name.sh"; done
}
unexpected_lines() {
  sed -E 's/^[0-9T:.-]+ [a-z]+: //' | grep -vE "$always_fine" | grep -vE "$expected_log" |
    grep -vE -f <(expected_beside; echo '^$') || true
}

case_check() {
  local lines restarts
  lines=$(operator_log | unexpected_lines)
  [[ -z $lines ]] || fail "the operator's log has what nobody expected:"$'\n'"$(head -n 20 <<<"$lines")"
  restarts=$(operator_restarts)
  [[ ${operator_may_restart:-} == true || $(crashes "$restarts_before" "$restarts") == 0 ]] ||
    fail "the operator was restarted: kubectl logs --previous (uid, restarts, exit status: $restarts)"
}

# For a case that failed.
case_show() {
  kubectl -n "$namespace" get elasticmpijobs -o json 2>/dev/null | jq -c '.items[] | {name: .metadata.name, spec: .spec.worker.replicas, status}' >&2
  say 'the last lines of the operator:'
  operator_log all | tail -n 40 >&2
}
