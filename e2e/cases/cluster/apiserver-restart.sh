#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# while the API server is away programs run on; afterwards the operator goes on without help
# images: operator runtime jacobi
# alone: it stops the API server
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
operator_may_restart=true # a leader that cannot renew its lease ends
expected_log='next attempt in|lease|no longer the leader|Unreachable|Could not|connection|Connection|an event was not written|503|500|429|watch|the server'
case_repair() { [[ -e $state/pid/apiserver ]] || cluster_ctl start apiserver; } >/dev/null 2>&1
job steady 0
runs steady 2
uids=$(get_pods steady | jq -c '[.items[].metadata.uid] | sort')
pod=$(pods steady | tail -n 1)
address=$(k get pod "$pod" -o jsonpath='{.status.podIP}')
directly() { curl --silent --max-time 5 "http://$(host "$address"):7401/metrics" | awk '/^empi_iterations_total/ { sum += $2 } END { printf "%d\n", sum }'; }
beyond_directly() { [[ $(directly) -gt $1 ]]; }
k scale emj steady --replicas=3 >/dev/null # in the middle of which it vanishes
cluster_ctl stop apiserver
at=$(directly)
within 20 'the program runs on without it' beyond_directly "$((at + 40))"
cluster_ctl start apiserver
within 60 'the API server is back' api /readyz
runs steady 3 90
iterates steady
same=$(get_pods steady | jq -c --argjson old "$uids" '[.items[].metadata.uid] | ($old - .) == []')
expect 'with the workers that it had, and no restart' test "$same" = true
expect 'no restart' job_is steady '.status.restarts == 0'
k scale emj steady --replicas=1 >/dev/null
runs steady 1
within 90 'both operators are ready' both_ready
