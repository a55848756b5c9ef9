#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# two jobs share a full cluster: the second starts smaller, and grows when the first gives room
# images: operator runtime jacobi
# alone: it fills the nodes
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
# Room for one of these on each of three nodes.
size='.spec.worker.template.spec.containers[0].resources.requests.cpu = "1100m" | .spec.resize.joinTimeoutSeconds = 15'
job first 0 "$size"
runs first 2
job second 0 "$size"
runs second 1 60
within 10 'it says that it is smaller than asked for' event second StartingSmaller 'only 1 worker of 2'
within 60 'it tries to grow, once, and says why it cannot' condition second ResizeBlocked 'Insufficient cpu'
iterates first
iterates second
k scale emj first --replicas=1 >/dev/null
runs first 1
runs second 2 90
iterates first
iterates second
