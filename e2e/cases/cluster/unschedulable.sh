#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a grow that finds no room is rolled back, said, and not tried again and again; another size is
# images: operator runtime jacobi
# alone: it fills the nodes
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
# More than half of a node each: a node has room for one of them, three nodes for three.
job big 0 '.spec.worker.template.spec.containers[0].resources.requests.cpu = "1100m" | .spec.resize.joinTimeoutSeconds = 15'
runs big 2
k scale emj big --replicas=5 >/dev/null
rolled_back() { job_is big '.status.lastResize.result == "RolledBack" and .status.state == "Running" and .status.joinedReplicas == 2'; }
within 60 'the grow is rolled back' rolled_back
expect 'status.resize.blocked says so' job_is big '.status.resize.blocked | .target == 5 and .attempts == 1 and (.retryAfter | length > 0)'
expect 'in the words of the scheduler' condition big ResizeBlocked 'Insufficient cpu'
runs big 2
next=$(value big .status.nextIndex)
iterates big
writes=$(value big .metadata.resourceVersion)
sleep 6 # the time in which a storm would be seen: nothing can be waited for
expect 'six seconds later it was not tried again' job_is big ".status.nextIndex == $next and .status.resize.blocked.attempts == 1"
expect 'and the job was left alone' job_is big ".metadata.resourceVersion == \"$writes\" or (.status.performance.efficiencyPercent != null)"
k scale emj big --replicas=3 >/dev/null
runs big 3 40
expect 'the block is gone' job_is big '.status.resize.blocked == null'
