#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agents that answer byte by byte, without an end, with a gibibyte or nonsense cost the operator little and others nothing
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
expected_log='did not confirm the start|^(byte-by-byte|endless|a-gibibyte|many-values|wrong-json): .* at (agent|sidecar) '

# The one that leads may change while this runs.
operator_processes() {
  local pod
  for pod in $(operator_pods); do processes_of_pod "${pod#pod/}" '^(/usr/local/bin/)?elastic-mpi-operator '; done
}
memory() { # VmRSS|VmHWM: of the largest, in MiB
  local pid
  for pid in $(operator_processes); do cat "/proc/$pid/status"; done | awk -v name="$1:" '$1 == name && $2 > most { most = $2 } END { print int(most / 1024) }'
}
before=$(memory VmRSS)
expect "the operator's memory is known" test "$before" -gt 0
for pid in $(operator_processes); do echo 5 >"/proc/$pid/clear_refs"; done # peaks begin anew

# A tenant's own init container may replace the agent that ours has brought.
case_folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-hostile-XXXXXX")
case_repair() { rm -rf "$case_folder"; }
gzip --best --stdout "$(command -v openssl)" >"$case_folder/openssl.gz" # a ConfigMap holds a mebibyte
k create configmap hostile --from-file=agent="$(dirname "$0")/lib/hostile_agent.pl" --from-file="$case_folder/openssl.gz" >/dev/null
hostile() { # WAY, also the job's name
  # shellcheck disable=SC2016  # of jq
  manifest "$1" 0 '.spec.worker.replicas = 1 | .spec.worker.template.spec |= (
    .terminationGracePeriodSeconds = 1 | .volumes = [{name: "hostile", configMap: {name: "hostile", defaultMode: 365}}]
    | .containers[0] |= (.command = [$name] | .args = [])
    | .initContainers = [{name: "replace", image: .containers[0].image,
        command: ["sh", "-c", "cp --remove-destination /hostile/agent /opt/elastic-mpi/bin/elastic-mpi-agent &&
          gzip -dc /hostile/openssl.gz >/opt/elastic-mpi/bin/openssl && chmod 755 /opt/elastic-mpi/bin/openssl"],
        volumeMounts: [{name: "hostile", mountPath: "/hostile"}, {name: "elastic-mpi-runtime", mountPath: "/opt/elastic-mpi"}],
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}])'
}
job beside 0
declare -A says=([byte-by-byte]='no whole answer in time' [endless]='larger than allowed|no whole answer in time'
  [a-gibibyte]='larger than allowed|no whole answer in time' [many-values]='more than 262144 values|no whole answer in time'
  [wrong-json]='cannot read the answer')
for way in "${!says[@]}"; do hostile "$way"; done | k apply -f - >/dev/null
runs beside 2
told() { # JOB REGEX: it says that its lead does not confirm the start, and why
  get_job "$1" | jq -e --arg words "the lead does not confirm the start: .*($2)" \
    '.status.conditions[]? | select(.type == "WorkersReady" and .status == "False") | .message | test($words)'
}
for way in "${!says[@]}"; do within 40 "$way is told: ${says[$way]}" told "$way" "${says[$way]}"; done
# All five are asked again and again meanwhile.
for size in 3 1; do
  k scale emj beside --replicas=$size >/dev/null
  runs beside $size
done
iterates beside
expect 'it was never thought to be silent' job_is beside '.status.restarts == 0 and all(.status.conditions[]; .type != "Degraded")'
peak=$(memory VmHWM)
say "its memory: $before MiB before, $peak MiB at most since"
expect 'its memory has grown by less than 128 MiB' test $((peak - before)) -lt 128

k delete emj --wait=false "${!says[@]}" >/dev/null
only_beside() { api "/api/v1/namespaces/$namespace/pods" | jq -e '.items | all(.metadata.labels["elasticmpi.io/job-name"] == "beside")'; }
within 20 'they go when they are deleted' only_beside
