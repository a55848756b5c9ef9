#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a job that is deleted and made anew while its lead hangs starts as a new one: nothing of the old one is taken for its own
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
expected_log='is of a deleted job of this name'
lead='' hanging=()
finalizer() { k patch pod "$lead" --type=merge -p "{\"metadata\": {\"finalizers\": $1}}" >/dev/null; } # JSON
case_repair() {
  kill -CONT "${hanging[@]}" || true # not those that have ended
  [[ -z $lead ]] || finalizer null || true
} 2>/dev/null
# A stopped agent does not end by itself: its pod ends with its grace.
brief='.spec.worker.template.spec.terminationGracePeriodSeconds = 3 | .spec.worker.replicas = 3'

job again 0 "$brief"
runs again 3
k scale emj again --replicas=2 >/dev/null
runs again 2
expect 'it has a past' job_is again '.status | .epoch == 2 and .nextIndex == 3 and .lastResize.to == 2'
old=$(uid_of emj/again)
lead=$(value again .status.leadPod)
mapfile -t hanging < <(processes_of_pod "$lead" '^/opt/elastic-mpi/bin/elastic-mpi-agent ')
expect "the agent of $lead is found" test -n "${hanging[*]}"
kill -STOP "${hanging[@]}"

# The operator's questions hang from now on. As long as the old pod is there, its name is taken.
finalizer '["example.com/kept"]'
k delete emj again --wait=false >/dev/null
within 10 'it is gone' gone emj/again
job again 0 '.spec.worker.maxReplicas = 4'
new=$(uid_of emj/again)
expect 'it is another job' test "$new" != "$old"
within 20 'it says what it waits for' condition again PodCreationBlocked 'of a deleted job of this name'
expect 'it has not failed' job_is again '.status.state == "Starting"'
finalizer null
runs again 2
expect 'its past is its own' job_is again '.status | .epoch == 1 and .nextIndex == 2 and .restarts == 0 and .lastResize == null and .activeWorkers == "0-1"'
expect 'so are its pods' pods_are again "length == 2 and all(.[]; .metadata.ownerReferences[0].uid == \"$new\")"
expect 'and its token' test "$(k get secret again-token -o jsonpath='{.metadata.ownerReferences[0].uid}')" = "$new"
iterates again
