#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# where a quota wants limits of all containers, a job whose template has them runs; one without says what is missing
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='403 Forbidden: .*failed quota: limits: must specify'

k create quota limits --hard=limits.cpu=8,limits.memory=4Gi,requests.cpu=4 >/dev/null
job bounded 60 '.spec.worker.template.spec.containers[0].resources.limits = {cpu: "1", memory: "256Mi"}'
job unbounded 0
within 20 'the one without limits says what the quota wants' condition unbounded PodCreationBlocked 'must specify limits.cpu'
expect 'a list of jobs says it in a word' job_is unbounded '.status.reason == "PodCreationBlocked"'
ends bounded Succeeded 60
expect 'no pod of the other was made' pods_are unbounded 'length == 0'
