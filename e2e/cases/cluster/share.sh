#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# three jobs with known curves get the shares of the optimum, and what one leaves
# images: operator runtime jacobi
# full: shares are tried by operator/controller/sharing_test.cpp
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
# scales NAME ITERATIONS SPEED-AT-8: as fast with eight workers as that, in per cent of one; in between as a line.
scales() { job "$1" "$2" "$queued | .spec.worker.replicas = 8 | .spec.worker.minReplicas = 1 | .spec.scheduling.scalability[1].speedPercent = $3"; }
queue '.spec.hold = "Start" | .spec.pools[0].quota.cpu = "540m" | .spec.growth.cooldownSeconds = 1 | .spec.moves.restSeconds = 1'
scales steep 0 800
scales alike 0 800
scales flat 0 101
within 20 'all three wait' queue_is '.status.queued == 3'
queue '.spec.pools[0].quota.cpu = "540m" | .spec.growth.cooldownSeconds = 1 | .spec.moves.restSeconds = 1'
runs flat 1
runs steep 4
runs alike 4
expect 'none of them has changed its size for that' job_is steep '.status.nextChange == 1'
k delete emj alike --wait=false >/dev/null
runs steep 8
expect 'the one that does not scale keeps its size' running flat 1
within 20 'nothing changes any more' queue_is '.status.running == 2 and (.status.pools[0] | .heldMilliCPU == .capacityMilliCPU)'
