#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a HorizontalPodAutoscaler scales a job; its writes pause Auto; applying a manifest again does not undo a resize
# images: operator runtime jacobi
# alone: its jobs run as long as its changes take
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
file=$(mktemp "${TMPDIR:-/tmp}/e2e-hpa-XXXXXX")
case_repair() { rm -f "$file"; }
manifest plain 0 'del(.spec.worker.replicas) | .spec.worker.minReplicas = 2' >"$file"
k apply -f "$file" >/dev/null
job self 0 'del(.spec.worker.replicas) | .spec.worker.minReplicas = 1 | .spec.autoscaling = {mode: "Auto", policy: {name: "threshold"}}'
runs plain 2
runs self 1
# Without a metrics server an autoscaler still keeps its own limits.
autoscaler() { # JOB MIN
  k apply -f - >/dev/null <<YAML
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: $1}
spec:
  scaleTargetRef: {apiVersion: elasticmpi.io/v1alpha1, kind: ElasticMPIJob, name: $1}
  minReplicas: $2
  maxReplicas: 4
YAML
}
expect 'the sample that goes by efficiency is taken' k apply --dry-run=server -f "$project/helm/samples/autoscaler.yaml"
autoscaler plain 3
autoscaler self 2
runs plain 3
runs self 2
within 20 'Auto rests, and says why' condition self AutoscalingPaused 'by somebody else'
able() { k get hpa plain -o json | jq -e '.status.conditions[] | select(.type == "AbleToScale" and .status == "True")' >/dev/null; }
expect 'the autoscaler is content with /scale' able
k delete hpa --all >/dev/null

k scale emj plain --replicas=4 >/dev/null
runs plain 4
k apply -f "$file" >/dev/null
expect 'a manifest without replicas leaves the size alone' job_is plain '.spec.worker.replicas == 4'
iterates plain
runs plain 4
k annotate emj self elasticmpi.io/resume-autoscaling=true >/dev/null
resumed() { job_is self 'any(.status.conditions[]; .type == "AutoscalingPaused" and .status == "False")'; }
within 20 'Auto goes on when asked' resumed
