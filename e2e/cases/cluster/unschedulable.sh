#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a grow takes the room there is and the rest when it comes; one that finds none is rolled back, and not tried again and again
# images: operator runtime jacobi
# alone: it fills the nodes
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
# More than half of a node each: a node has room for one of them, three nodes for three.
large='.spec.worker.template.spec.containers[0].resources.requests.cpu = "1100m" | .spec.resize.joinTimeoutSeconds = 15'
job other 0 "$large | .spec.worker.replicas = 1"
runs other 1
job big 0 "$large | .spec.worker.replicas = 1"
runs big 1

# Two of three workers fit: they run, the third waits for room, beyond joinTimeoutSeconds, too.
k scale emj big --replicas=3 >/dev/null
within 40 'the one that fits has joined' running big 2
within 10 'the one that does not is awaited' job_is big '.status.resize.awaited.workers == "2"'
expect 'and this is said, in the words of the scheduler' condition big ResizePending 'WorkersMissing: 2 -> 3 .*big-w-2: Unschedulable.*Insufficient cpu'
iterates big
pod=$(k get pod big-w-2 -o jsonpath='{.metadata.uid}')
sleep 16 # the time in which its pod would be thrown away: nothing can be waited for
expect 'its pod is left as it is' pods_are big "any(.[]; .metadata.uid == \"$pod\" and .metadata.deletionTimestamp == null)"
expect 'nothing else was made' job_is big '.status.nextIndex == 3 and .status.resize.blocked == null'
k delete emj other --wait=false >/dev/null
runs big 3
expect 'it is the same pod' pods_are big "any(.[]; .metadata.uid == \"$pod\")"
expect 'two changes were enough' job_is big '.status.epoch == 3 and .status.nextIndex == 3 and .status.workers == "0-2"'
within 10 'nothing is missing' job_is big 'all(.status.conditions[]; .type != "ResizePending" or .status == "False")'
iterates big

# No room at all.
k scale emj big --replicas=5 >/dev/null
rolled_back() { job_is big '.status.lastResize.result == "RolledBack" and .status.state == "Running" and .status.joinedReplicas == 3'; }
within 60 'the grow is rolled back' rolled_back
expect 'status.resize.blocked says so' job_is big '.status.resize.blocked | .target == 5 and .attempts == 1 and (.retryAfter | length > 0)'
expect 'in the words of the scheduler' condition big ResizeBlocked 'Insufficient cpu'
runs big 3
next=$(value big .status.nextIndex)
iterates big
writes=$(value big .metadata.resourceVersion)
sleep 6 # the time in which a storm would be seen: nothing can be waited for
expect 'six seconds later it was not tried again' job_is big ".status.nextIndex == $next and .status.resize.blocked.attempts == 1"
expect 'and the job was left alone' job_is big ".metadata.resourceVersion == \"$writes\" or (.status.performance.efficiencyPercent != null)"
k scale emj big --replicas=2 >/dev/null
runs big 2 40
expect 'the block is gone' job_is big '.status.resize.blocked == null'
