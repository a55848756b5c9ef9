#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agents that answer byte by byte, without an end, with a gibibyte or nonsense cost the operator little and others nothing
# images: operator runtime jacobi
# alone: it stops the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-hostile-XXXXXX")
ours=
end_ours() {
  if [[ -n $ours ]]; then
    kill "$ours" || true
    wait "$ours" || true
  fi
  ours=
}
case_repair() {
  end_ours
  rm -rf "$folder"
  start_operator
} 2>/dev/null
openssl rand -hex 32 >"$folder/key"
stop_operator
# What they do inside of TLS, tests of the operator do: here they speak plain HTTP, which takes them nothing to begin with.
(own_operator "$folder/key" "$folder/log" --no-mutual-tls) &
ours=$!
expected_log='did not confirm the start|^(byte-by-byte|endless|a-gibibyte|many-values|wrong-json): .* at (agent|sidecar) '

memory() { awk -v name="$1:" '$1 == name { print int($2 / 1024) }' "/proc/$ours/status"; } # VmRSS|VmHWM, in MiB
leads() { grep -q ' leading$' "$folder/log"; }
within 20 'an operator of our own leads' leads
before=$(memory VmRSS)
expect "the operator's memory is known" test "$before" -gt 0
echo 5 >"/proc/$ours/clear_refs" # its peak begins anew

# A tenant's own init container may replace the agent that ours has brought.
k create configmap hostile --from-file=agent="$(dirname "$0")/lib/hostile_agent.pl" >/dev/null
hostile() { # WAY, also the job's name
  # shellcheck disable=SC2016  # of jq
  manifest "$1" 0 '.spec.worker.replicas = 1 | .spec.worker.template.spec |= (
    .terminationGracePeriodSeconds = 1 | .volumes = [{name: "hostile", configMap: {name: "hostile", defaultMode: 365}}]
    | .containers[0] |= (.command = [$name] | .args = [])
    | .initContainers = [{name: "replace", image: .containers[0].image,
        command: ["cp", "--remove-destination", "/hostile/agent", "/opt/elastic-mpi/bin/elastic-mpi-agent"],
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

k delete emj --wait=false --all >/dev/null
none_left() { api "/api/v1/namespaces/$namespace/pods" | jq -e '.items == []'; }
within 20 'all go when they are deleted' none_left
unexpected=$(unexpected_lines <"$folder/log")
expect "its log has nothing unexpected: $unexpected" test -z "$unexpected"
