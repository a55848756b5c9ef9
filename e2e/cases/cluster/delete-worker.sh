#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a deleted worker is replaced, or left out, or ends the job in words: in every phase, never a hang
# images: operator runtime jacobi
# alone: its jobs run as long as its changes take
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
# It knows already, or has ended since.
expected_log='stop the program: .*(the agent is ending|Could not establish connection|Failed to (read|write) connection|TLS: the peer closed the connection)'

# While the job starts: another takes its place.
job starting 60
within 20 'the first pods are there' pods_are starting 'length == 2'
k delete pod starting-w-1 --grace-period=0 --force >/dev/null 2>&1
ends starting Succeeded
expect 'a third worker was made' job_is starting '.status.nextIndex == 3'

# While it runs, with notice: one change, the replacement joins and the victim leaves.
job steady 0
runs steady 2
k delete pod steady-w-1 --wait=false >/dev/null
replaced() { job_is steady '.status.workers == "0,2" and .status.state == "Running"'; }
within 60 'it is replaced by one of a new index' replaced
within 30 'and goes' pod_gone steady-w-1
runs steady 2
iterates steady
expect 'in one change' job_is steady '.status.epoch == 2'

# While a change creates pods: the change goes on with another.
k scale emj steady --replicas=4 >/dev/null
within 20 'a newcomer exists' pods_are steady 'map(select(.metadata.name == "steady-w-4")) | length == 1'
k delete pod steady-w-4 --grace-period=0 --force >/dev/null 2>&1
runs steady 4
iterates steady

# While ranks join: the change is rolled back or begun anew; the job is never hurt.
k scale emj steady --replicas=5 >/dev/null
phase() { job_is steady '.status.resize.phase | IN("Requested", "Preparing", "Building", "Ready")'; }
within 30 'the change is with the lead' phase
newcomer=$(pods steady | tail -n 1)
k delete pod "$newcomer" --grace-period=0 --force >/dev/null 2>&1
settled() { job_is steady '(.status.state == "Running" or .status.state == "Failed") and .status.resize.id == null'; }
within 90 'the change has ended' settled
say "  $(value steady '.status.lastResize | "\(.result) \(.from) -> \(.to) \(.reason)"')"
whole() { # nobody is counted who is not there
  local job
  job=$(get_job steady) && get_pods steady | jq -e --argjson job "$job" \
    '[.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running")] | length == $job.status.joinedReplicas' >/dev/null
}
# Whether it was a member already is a matter of chance.
lost_or_whole() { whole || condition steady Failed 'WorkerLost|WorkerFailed|ProgramFailed'; }
within 30 'the members are the pods that run, or the job says that it lost one' lost_or_whole
if job_is steady '.status.state == "Running"'; then iterates steady; fi

# While it runs, without notice: the others go on from their last copies, and another takes its place.
job lost 0 '.spec.runPolicy.backoffLimit = 1'
runs lost 2
has_copies lost
k delete pod lost-w-1 --grace-period=0 --force >/dev/null 2>&1
goes_on_without() { running lost 2 && job_is lost '.status.workers == "0,2" and (.status.restarts // 0) == 0'; }
within 60 'the others go on, and it is replaced' goes_on_without
iterates lost

# That of the lead: the next one is named and leads, in the same attempt.
k delete pod lost-w-0 --grace-period=0 --force >/dev/null 2>&1
goes_on_without_lead() {
  running lost 2 && job_is lost '.status.workers == "2-3" and (.status.restarts // 0) == 0 and .status.leadPod == "lost-w-2"'
}
within 60 'another one leads, and it is replaced' goes_on_without_lead
expect 'an event says so' event lost LeadLost 'lost-w-0 is gone; lost-w-2 leads from now on'
iterates lost
k delete emj lost --wait=false >/dev/null

# Where the job is not to go on: it starts again from the beginning as often as backoffLimit allows.
job failing 0 '.spec.runPolicy.backoffLimit = 1 | .spec.resize.onWorkerLoss = "Fail"'
runs failing 2
iterates failing
k delete pod failing-w-0 --grace-period=0 --force >/dev/null 2>&1
within 60 'it is restarted' job_is failing '.status.restarts == 1'
within 10 'an event says why and how' event failing '' 'restart 1 of 1, from the start of the program'
runs failing 2 60
k delete pod "$(pods failing | head -n 1)" --grace-period=0 --force >/dev/null 2>&1
ends failing Failed 60
expect 'the second time it fails and says that a worker was lost' condition failing Failed 'Worker|rank|lost|vanished'
within 30 'no pod of it stays' pods_are failing 'all(.[]; .status.phase != "Running")'
