#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# helm uninstall leaves the CRD, the root key and the jobs, whose programs run on, and nothing else
# images: operator runtime jacobi
# alone: it removes the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
case_repair() { need_operator; } >/dev/null 2>&1
case_check() { :; } # no operator, no log
job orphan 0
runs orphan 2
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null 2>&1
within 60 'the operator is gone' no_operator
expect 'the CRDs are there' kubectl get crd elasticmpijobs.elasticmpi.io elasticqueues.elasticmpi.io
expect 'the job is there' job_is orphan '.status.state == "Running"'
iterates orphan
left() { # what still has the chart's label, of every kind that a chart can have
  local kinds
  kinds=$(kubectl api-resources --verbs=list -o name | grep -v '^events' | paste -sd,)
  kubectl get "$kinds" --all-namespaces -l app.kubernetes.io/instance=elastic-mpi --ignore-not-found \
    -o jsonpath='{range .items[*]}{.kind}/{.metadata.name}{"\n"}{end}' 2>/dev/null | sort -u
}
expect 'beside it nothing of the chart is left' test -z "$(left)"
expect 'nor has the root key gone, which the operator had made' kubectl --namespace "$system" get secret elastic-mpi-operator-root-key
