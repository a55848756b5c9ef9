#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a worker of a master-worker job that is deleted in mid-phase costs its chunk only, also the one that leads and keeps the queue; same bits
# images: operator runtime surrogate
# alone: it computes on all cores
# long: for three minutes
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='the lead .*(answer|reach|refused|known)|lost: ' # of the job whose lead is deleted

# The result is in a file of the pod with the queue, which is out of reach once the pod has ended: so the log shows it.
surrogate() { # NAME SLOWDOWN JQ
  # shellcheck disable=SC2016  # the pod's own variables
  jq -n --arg name "$1" --arg slowdown "$2" --arg image "$(image surrogate)" '
    {apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob", metadata: {name: $name},
     spec: {
       worker: {minReplicas: 1, maxReplicas: 8, template: {spec: {containers: [{
         name: "worker", image: $image,
         command: ["sh", "-c", "empi-surrogate --out /tmp \"$@\"; s=$?; grep -s fingerprint /tmp/surrogate.json; exit $s", "-"],
         args: ["--reference-points", "500", "--tolerance", "0.05", "--most-points", "200", "--samples", "256", "--burn-in", "600"],
         env: [{name: "EMPI_SLOWDOWN", value: $slowdown}],
         resources: {requests: {cpu: "50m", memory: "64Mi"}}}]}}},
       autoscaling: {windowSeconds: 1, policy: {name: "tasks"}},
       resize: {prepareTimeoutSeconds: 240, joinTimeoutSeconds: 240}}} | '"$3" | k apply -f - >/dev/null
}
bits() { worker_logs "$1" | sed -n 's/.*"fingerprint": *"\([0-9a-f]*\)".*/\1/p' | sort -u; }

surrogate alone 1 '.spec.worker.replicas = 1'
surrogate shared 60 '.spec.worker.replicas = 3'
# As the pod with the queue says at this moment. (Status is written each half minute at most.)
tasks() { # JOB METRIC [LABEL]
  api "/api/v1/namespaces/$namespace/pods/$1-w-0:7401/proxy/metrics" |
    awk -v name="$2{" -v label="${3:-}" 'index($1, name) == 1 && index($1, label) { print $NF }'
}
done_of() { tasks "$1" empi_tasks 'state="done"'; }
in_phase() { [[ $(done_of "$1") -gt 20 && $(tasks "$1" empi_tasks 'state="queued"') -gt 60 ]]; }
# Counts on through the phases.
progress() { echo $((1000000 * $(tasks "$1" empi_task_phase) + $(done_of "$1"))); }
runs_tasks() { within 60 "$1 runs with $2" running "$1" "$2"; }
runs_tasks shared 3
within 60 'it is in mid-phase' in_phase shared
status_says() { job_is shared '.status.tasks.queued > 0 and .status.tasks.predictedFinish != null and .status.tasks.meanSeconds > 0'; }
within 60 'its status shows the queue, and when it will be empty' status_says
within 60 'it is in mid-phase' in_phase shared
before=$(progress shared)
k delete pod shared-w-2 --grace-period=0 --force >/dev/null 2>&1
# A number comes once. Which one it is depends on whether the loss is seen before or after the replacement is asked for.
replaced() { running shared 3 && pods_are shared 'map(.metadata.name) | all(. != "shared-w-2") and any(test("-w-[3-9]$"))'; }
within 60 'the job goes on, and another pod takes its place' replaced
goes_on() { [[ $(progress shared) -gt $before ]]; }
within 30 'no task of the others is lost' goes_on
expect 'nothing began anew' job_is shared '(.status.restarts // 0) == 0'

# The pod of the lead keeps the queue: the other one mirrors it, and is named.
surrogate queue 60 '.spec.worker.replicas = 2 | .spec.runPolicy.backoffLimit = 0'
runs_tasks queue 2
within 60 'it is in mid-phase' in_phase queue
k delete pod queue-w-0 --grace-period=0 --force >/dev/null 2>&1
within 60 'the job goes on with another lead' job_is queue '.status.recoveries.count == 1 and .status.leadPod == "queue-w-1"'
within 60 'a pod takes the place of the one that is lost' running queue 2
expect 'nothing began anew' job_is queue '(.status.restarts // 0) == 0'
ends alone Succeeded 120
ends shared Succeeded 300
ends queue Succeeded 300
same_bits() { [[ -n $(bits alone) && $(bits alone) == "$(bits shared)" && $(bits alone) == "$(bits queue)" ]]; }
say "  alone $(bits alone), shared $(bits shared), queue $(bits queue)"
expect 'their result is that of one process to the last bit' same_bits
