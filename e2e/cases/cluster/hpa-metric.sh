#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a HorizontalPodAutoscaler sizes a job by the efficiency that its sidecars export, through the metrics API, up and down
# images: operator runtime jacobi
# programs: metrics-adapter
# alone: it adds an API to the API server
# full: what it is about is mostly Kubernetes' own; [hpa] shows in CI that an autoscaler's writes are followed
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
metrics_api=custom.metrics.k8s.io metric=empi_parallel_efficiency_ratio port=6444
log=$(mktemp "${TMPDIR:-/tmp}/e2e-hpa-metric-XXXXXX")
# An API that nobody serves any more would keep every namespace from going.
case_repair() {
  kubectl delete apiservice "v1beta2.$metrics_api" --ignore-not-found >/dev/null 2>&1
  [[ -z ${adapter:-} ]] || kill "$adapter" 2>/dev/null || true
  rm -f "$log"
}
case_show() {
  k get hpa -o yaml >&2
  tail -n 20 "$log" >&2
}
begin_case

# Beside the control plane, as the cluster's DNS is. Whoever asks must have the API server's certificate.
metrics-adapter -listen "$(host "$control_address"):$port" -cert "$state/pki/apiserver.crt" -key "$state/pki/apiserver.key" \
  -client-ca "$state/pki/front-proxy-ca.crt" -api "$api_socket" -metric "$metric" >"$log" 2>&1 &
adapter=$!
k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Service
metadata: {name: metrics-adapter}
spec: {ports: [{name: https, port: 443, targetPort: $port}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-adapter, labels: {kubernetes.io/service-name: metrics-adapter}}
addressType: $address_type
endpoints: [{addresses: ["$control_address"], conditions: {ready: true}}]
ports: [{name: https, port: $port, protocol: TCP}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.$metrics_api}
spec:
  group: $metrics_api
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {namespace: $namespace, name: metrics-adapter}
  insecureSkipTLSVerify: true # its certificate is for another name
YAML
expect 'the API server passes the metrics API on' kubectl wait --for=condition=Available "apiservice/v1beta2.$metrics_api" --timeout=60s
no_stranger() { ! curl --silent --insecure --max-time 5 "https://$(host "$control_address"):$port/apis/$metrics_api/v1beta2"; }
expect 'which nobody else may ask' no_stranger

# Iterations of 192 ms on one worker, 48 ms on four: few enough that what this machine is late by counts little.
job sized 0 '.spec.worker.replicas = 1 | .spec.worker.template.spec.containers[0].args |= .[:-2] + ["--row-time", "3000"]'
runs sized 1
figures() { # COUNT: of the job's pods, each between .5 and 1
  api "/apis/$metrics_api/v1beta2/namespaces/$namespace/pods/%2A/$metric?labelSelector=elasticmpi.io/job-name%3Dsized" |
    jq -e --argjson count "$1" '.items | length == $count and all(.[].value; rtrimstr("m") | tonumber | . > 500 and . <= 1000)' >/dev/null
}
within 30 'the metrics API has the figure of its pod' figures 1

# The sample, of this job, with limits of 1 and 4; it does not wait before it acts.
kubectl create --dry-run=client -o json -f "$project/helm/samples/autoscaler.yaml" | jq '.metadata = {name: "sized"}
  | .spec.scaleTargetRef.name = "sized" | .spec.minReplicas = 1 | .spec.maxReplicas = 4
  | .spec.behavior[].stabilizationWindowSeconds = 0' | k apply -f - >/dev/null
start=$EPOCHREALTIME
runs sized 4 120
say "from 1 to 4 in $(elapsed "$start") s"
goes_by_it() {
  k get hpa sized -o json | jq -e --arg metric "$metric" '(.status.conditions | any(.type == "ScalingActive" and .reason == "ValidMetricFound"))
    and .status.currentMetrics[0].pods.metric.name == $metric and .status.currentMetrics[0].pods.current.averageValue != null' >/dev/null
}
within 40 'the autoscaler goes by that figure' goes_by_it
within 40 'which all four pods have' figures 4

# Four times as much as any worker can have: one is enough to be below it.
start=$EPOCHREALTIME
k patch hpa sized --type=json -p '[{"op": "replace", "path": "/spec/metrics/0/pods/target/averageValue", "value": "4"}]' >/dev/null
runs sized 1 120
say "from 4 to 1 in $(elapsed "$start") s"
expect 'the program has gone on' job_is sized '.status.restarts == 0'
iterates sized
