#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl drain moves the workers of a node to others while the program runs on
# images: operator runtime jacobi
# alone: it empties a node
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
node=
case_repair() { [[ -z $node ]] || kubectl uncordon "$node"; } >/dev/null 2>&1
job moved 0 ".spec.worker.replicas = 3 | $spread"
runs moved 3
node=$(node_of moved-w-1)
start=$EPOCHREALTIME
kubectl drain "$node" --pod-selector=elasticmpi.io/job-name=moved --ignore-daemonsets --delete-emptydir-data --force --timeout=120s >/dev/null
say "drained after $(elapsed "$start") s"
elsewhere() { pods_are moved "map(select(.metadata.deletionTimestamp == null)) | length == 3 and all(.[]; .spec.nodeName != \"$node\")"; }
within 60 'three workers are elsewhere' elsewhere
runs moved 3
iterates moved
expect 'the program was not restarted' job_is moved '.status.restarts == 0 and .status.epoch >= 2'
within 10 'the change was for the drain' event moved Resized '3 -> 3 workers'
