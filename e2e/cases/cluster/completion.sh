#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a job that ends while the operator is away is told right afterwards; vanished pods are no success
# images: operator runtime jacobi
# alone: it stops the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
case_repair() { start_operator; } >/dev/null 2>&1
job ends-alone 300
job vanishes 300
runs ends-alone 2
runs vanishes 2
stop_operator
ended='all(.[]; .status.containerStatuses[]? | select(.name == "worker") | .state.terminated.exitCode == 0)'
both_ended() { pods_are ends-alone "$ended" && pods_are vanishes "$ended"; }
within 120 'both end without it' both_ended
k delete pods -l elasticmpi.io/job-name=vanishes --grace-period=0 --force >/dev/null 2>&1
expect 'nothing is said of them yet' job_is ends-alone '.status.state == "Running"'
start_operator
ends ends-alone Succeeded 20
ends vanishes Failed 20
expect 'it does not claim to know how it ended' condition vanishes OutcomeUnknown 'may have ended well'
expect 'it is no success' job_is vanishes 'all(.status.conditions[]; .type != "Succeeded")'
