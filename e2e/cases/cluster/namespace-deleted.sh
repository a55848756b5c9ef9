#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a namespace that is deleted does not wait for its jobs: Kubernetes ends their pods first, and none is made in their place
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='because it is being terminated|is being deleted: no pod is made in it any more'

job elastic 0 '.spec.worker.replicas = 2'
job stiff 0 '.spec.runtime.mode = "Rigid" | .spec.worker.replicas = 2'
runs elastic 2
runs stiff 2
without_namespace() { missing "/api/v1/namespaces/$namespace"; }
grace=$(k get pods -o json | jq '[.items[].spec.terminationGracePeriodSeconds] | min')
expect "its pods have a grace of $grace s" test "$grace" -ge 60
kubectl delete namespace "$namespace" --wait=false >/dev/null
within 40 'it is gone, long before that' without_namespace
