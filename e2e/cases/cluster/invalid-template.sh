#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a template that the server refuses fails the job in its words; one that is forbidden now waits
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='422 Invalid: |403 Forbidden: .*violates PodSecurity'
container='.spec.worker.template.spec.containers[0]'
job no-image 0 "del($container.image)"
job request-above-limit 0 "$container.resources.limits.memory = \"1Mi\""
ends no-image Failed 10
expect 'it is said which field' condition no-image Failed 'InvalidTemplate.*containers\[0\].image'
ends request-above-limit Failed 10
expect 'the words are the server'"'"'s' condition request-above-limit Failed 'InvalidTemplate.*must be less than or equal to memory limit'
expect 'nothing was made for it' gone service/request-above-limit-workers
expect 'nor any pod' pods_are request-above-limit 'length == 0'
within 10 'an event tells it as well' event request-above-limit InvalidTemplate

job privileged 60 "$container.securityContext.privileged = true | $container.securityContext.allowPrivilegeEscalation = true"
within 10 'Pod Security refuses, and the job says so' condition privileged PodCreationBlocked 'violates PodSecurity'
expect 'it has not failed: the policy may change' job_is privileged '.status.state == "Starting"'
kubectl label --overwrite namespace "$namespace" pod-security.kubernetes.io/enforce=privileged >/dev/null
ends privileged Succeeded 60
