# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Queues of cases: one with the namespace's name, which goes with it. Sourced after operator.sh, before begin_case.

# queue JQ: makes or changes it; JQ changes the manifest. Room for eight workers of 50m, each with a sidecar of 10m.
queue() { queue_manifest "$@" | kubectl apply -f - >/dev/null; }
queue_manifest() {
  jq -n --arg name "$namespace" '
    {apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticQueue", metadata: {name: $name},
     spec: {namespaces: [$name], pools: [{name: "share", quota: {cpu: "480m"}}]}} | '"$1"
}
queue_goes() { kubectl delete elasticqueue "$namespace" --ignore-not-found --wait=false >/dev/null; }
case_repair() { queue_goes; } # a case that repairs more says so after begin_case, and calls queue_goes

get_queue() { api "/apis/elasticmpi.io/v1alpha1/elasticqueues/$namespace"; }
queue_is() { get_queue | jq -e "$1" >/dev/null; }
waits() { job_is "$1" ".status.state == \"Queued\" and (.status.queue.reason | test(\"$2\"))"; } # NAME REGEX
why() { value "$1" '.status.queue | "\(.cause): \(.reason)"'; }

# Put into the manifest of a job: in this queue.
# shellcheck disable=SC2034
in_queue='.spec.scheduling.queueName = "'$namespace'"'
# The same, and known to be as fast as it has workers, so that every one of them is worth having.
# shellcheck disable=SC2034
queued='.spec.scheduling = {queueName: "'$namespace'", scalability: [{workers: 1, speedPercent: 100}, {workers: 8, speedPercent: 800}]}'
