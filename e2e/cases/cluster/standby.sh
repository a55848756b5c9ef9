#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a grow takes the worker in reserve, which is replaced; it goes with the job, whatever stays for its logs
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
job warm 0 '.spec.worker.standby = 1 | .spec.runPolicy.cleanPodPolicy = "None"'
within 60 'it runs with 2' running warm 2
in_reserve() { job_is warm ".status.standby.ready == 1 and .status.standby.workers == \"$1\" and .status.replicas == $2"; }
within 60 'beside one in reserve' in_reserve 2 2
before=$(uid_of pod/warm-w-2)
k scale emj warm --replicas=3 >/dev/null
within 30 'it runs with 3' running warm 3
expect 'the third is the one that was in reserve' test "$before" = "$(uid_of pod/warm-w-2)"
iterates warm
within 60 'another takes its place' in_reserve 3 3
k annotate emj warm elasticmpi.io/cancel=true >/dev/null
ends warm Failed
within 60 'the one in reserve goes' pod_gone warm-w-3
