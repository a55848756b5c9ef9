#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# an operator that is reinstalled while a promise is open keeps it
# images: operator runtime jacobi
# alone: it removes the operator
# full: it reinstalls what other cases need
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
operator_may_restart=true
queue .
job wide 0 "$queued | .spec.worker.replicas = 8 | .spec.worker.minReplicas = 2 | .spec.worker.template.spec.containers[0].args[-1] = \"3000\""
runs wide 8
job stiff 0 "$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = 4"
wait_until 20 'it is promised what it needs' job_is stiff '.status.allocation.promised == 4'
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null
wait_until 60 'the operator is gone' no_operator
expect 'the promise is open' job_is stiff '.status.state == "Queued" and .status.allocation.promised == 4'
# A job runs without an operator, and completes the change that it was told of.
iterates wide
helm_upgrade --set replicas=2
mark_log
runs stiff 4 90
runs wide 4
expect 'the donor was asked once, and never started again' job_is wide '.status.nextChange == 2 and .status.restarts == 0'
within 20 'no more is given out than there is' queue_is '.status.pools[0] | .heldMilliCPU == .capacityMilliCPU and .promisedMilliCPU == 0'
