#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the operator is uninstalled and installed again: a job that runs is managed on
# images: operator runtime jacobi
# alone: it removes the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
job kept 0
runs kept 2
fence=$(value kept .status.fence)
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null 2>&1
within 60 'the operator is gone' no_operator
iterates kept
start=$EPOCHREALTIME
need_operator
say "installed again after $(elapsed "$start") s"
mark_log
k scale emj kept --replicas=3 >/dev/null
runs kept 3
iterates kept
expect 'it was taken by a new leader, not restarted' job_is kept ".status.fence > $fence and .status.restarts == 0"
