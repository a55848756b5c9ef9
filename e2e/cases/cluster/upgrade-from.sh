#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev e2e --from REV: jobs that an older version's operator has begun are managed on after the upgrade, in their own way
# images: operator runtime jacobi
# alone: it removes the operator and its CRD
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
[[ -n ${EMPI_FROM:-} ]] || { say 'it wants an older version: ./dev e2e --from REV'; exit 77; }
older=${EMPI_FROM##*/}
make_namespace
open_api
case_repair() { # no other case is to find the jobs' kind as it was
  k delete emj --all --timeout=60s || true
  need_operator
} >/dev/null 2>&1
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null 2>&1 || true
kubectl delete crd elasticmpijobs.elasticmpi.io elasticqueues.elasticmpi.io --ignore-not-found --timeout=60s >/dev/null
kubectl delete namespace "$system" --ignore-not-found --timeout=60s >/dev/null
kubectl create namespace "$system" >/dev/null

helm install elastic-mpi "$EMPI_FROM/source/helm/elastic-mpi" --namespace "$system" --set image.registry=localhost --set "image.tag=$older" \
  --set options.leaseSeconds=6 --set options.renewSeconds=4 --set options.retrySeconds=1 --set options.lookSeconds=2 >/dev/null
operator_ready
keys() { kubectl --namespace "$system" get secret elastic-mpi-operator-root-key -o jsonpath='{.data.key}'; }
key=$(keys)
older_job() { job "$1" "$2" ".spec.worker.template.spec.containers[0].image = \"localhost/elastic-mpi-jacobi:$older\" | ${3:-.}"; }
older_job kept 0
older_job growing 0
older_job over 60
runs kept 2
runs growing 2
ends over Succeeded
# One whose newcomer cannot come before the upgrade.
k create quota full --hard="pods=$(k get pods -o name | wc -l)" >/dev/null
k scale emj growing --replicas=3 >/dev/null
within 20 'one is about to grow when the operator goes' job_is growing '.status.state == "Resizing"'
before=$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')

start=$EPOCHREALTIME
need_operator
say "upgraded from $older after $(elapsed "$start") s"
mark_log
expected_log='exceeded quota'
expect 'the root key is the same' test "$(keys)" = "$key"
runs kept 2
expect 'its workers are the same' test "$before" = "$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')"
k delete quota full >/dev/null
k scale emj kept --replicas=3 >/dev/null
runs kept 3
runs growing 3
iterates kept
k scale emj kept --replicas=1 >/dev/null
runs kept 1
own_way() { job_is "$1" ".status | .restarts // 0 == 0 and .mutualTLS != true and (.runtimeImage | endswith(\":$older\"))"; }
for name in kept growing; do expect "$name goes on in its own way: plain HTTP, its own runtime" own_way $name; done
expect 'what was over is over' job_is over '.status.state == "Succeeded"'
job new 0
runs new 2
expect 'a job of this version speaks TLS' job_is new '.status.mutualTLS == true'
k delete emj --all --wait=false >/dev/null
ended() { api "/api/v1/namespaces/$namespace/pods" | jq -e '.items == []' >/dev/null; }
within 30 'all of them end when they are deleted' ended
