#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the sidecar of a job's lead hangs: the job says that its efficiency is unknown, and is resized all the same
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

job watched 0 '.spec.autoscaling = {mode: "Off", windowSeconds: 1}'
runs watched 2
# One that has never answered might be of an earlier version, and is not missed. It is asked before the agent is.
within 30 'it was measured' job_is watched '.status.performance.efficiencyPercent != null'
lead=$(value watched .status.leadPod)
sidecar=$(processes_of_pod "$lead" 'bin/elastic-mpi-sidecar$')
expect 'the sidecar of its lead is found' test -n "$sidecar"
kill -STOP "$sidecar"
k scale emj watched --replicas=3 >/dev/null
runs watched 3
iterates watched
within 40 'it says what is wrong' condition watched Degraded 'SidecarSilent: .*no whole (answer|handshake) in time'
if [[ -n ${EMPI_FULL:-} ]]; then
  started_again() { pods_are watched "map(select(.metadata.name == \"$lead\")) | .[0].status.initContainerStatuses[0].restartCount == 1"; }
  within 150 'the kubelet starts it again' started_again
else
  kill -CONT "$sidecar"
fi
well() { ! condition watched Degraded; }
within 70 'all is well again' well
expect 'the program has gone on' job_is watched '.status.restarts == 0 and .status.epoch == 2'
