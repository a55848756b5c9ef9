#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the operator is upgraded under a running job, which does not notice, and is resized afterwards
# images: operator runtime jacobi
# alone: it replaces the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
job kept 0
runs kept 2
before=$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')
old=$(operator_pods | sort)
start=$EPOCHREALTIME
helm_upgrade --set options.lookSeconds=1,options.threads=2
say "upgraded after $(elapsed "$start") s"
new_pods() { [[ -z $(comm -12 <(echo "$old") <(operator_pods | sort)) ]]; }
within 60 'the operator'"'"'s pods are new ones' new_pods
mark_log
expect 'the workers are the same' test "$before" = "$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')"
iterates kept
k scale emj kept --replicas=3 >/dev/null
runs kept 3
k scale emj kept --replicas=1 >/dev/null
runs kept 1
expect 'it was not restarted' job_is kept '.status.restarts == 0'
