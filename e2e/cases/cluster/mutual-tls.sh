#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# operator and pods speak TLS, unless a job began without: who shows no certificate of the job's controller commands nothing
# images: operator runtime jacobi
# alone: it stops the operator
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-tls-XXXXXX")
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
begin_ours() { # OPTIONS
  end_ours
  (own_operator "$folder/key" "$folder/log" "$@") &
  ours=$!
}
openssl rand -hex 32 >"$folder/key"
stop_operator

begin_ours --no-mutual-tls
job plain 0
runs plain 2
begin_ours
job secure 0
runs secure 2
iterates secure
expect 'it says how its pods speak' job_is secure '.status.mutualTLS == true'
expect 'its lead is looked at through its sidecar' job_is secure 'all(.status.conditions[]; .type != "Degraded")'

# asks STATUS POD PATH [CURL'S ARGUMENTS]: what the agent answers to who has the token; 000 is no answer.
token=$(k get secret secure-token -o jsonpath='{.data.token}' | base64 -d | head -n 1)
asks() {
  local scheme=https status
  [[ ${4:-} != plain ]] || { scheme=http && set -- "${@:1:3}"; }
  status=$(curl --silent --insecure --max-time 20 --header "Authorization: Bearer $token" --output "$folder/answer" \
    --write-out '%{http_code}' "${@:4}" "$scheme://$(host "$(k get pod "$2" -o jsonpath='{.status.podIP}')"):7400$3") || true
  [[ $status == "$1" ]] || { say "$3 at $2: status $status"; return 1; }
}
entry() { k get secret secure-tls-0 -o json | jq -r --arg name "$1" '.data[$name]' | base64 -d; }
lead=$(value secure .status.leadPod)
stop=(--request POST --header 'Content-Type: application/json' --data '{"fence": 1000000, "reason": "wrong"}')
expect 'a plain request gets no answer' asks 000 "$lead" /v1/membership plain
expect 'without a certificate there is health' asks 200 "$lead" /v1/healthz
expect 'and nothing else' asks 403 "$lead" /v1/stop "${stop[@]}"
entry worker-1.pem >"$folder/worker.pem"
expect 'a member of the job may not stop it' asks 403 "$lead" /v1/stop --cert "$folder/worker.pem" "${stop[@]}"
expect 'a pod has its own key and no other' test "$(k exec "$lead" -c worker -- ls /var/run/secrets/elasticmpi.io-tls | xargs)" = 'authorities.pem identity.pem'

controller_of secure "$(cat "$folder/key")" >"$folder/controller.pem"
expect 'its controller is answered' asks 200 "$lead" /v1/membership --cert "$folder/controller.pem"
controller_of secure "$(openssl rand -hex 32)" >"$folder/other.pem"
expect 'one of another root key is not heard' asks 000 "$lead" /v1/membership --cert "$folder/other.pem"

k scale emj plain secure --replicas=3 >/dev/null
runs secure 3
iterates secure
expect 'all the time the program ran' job_is secure '.status.restarts == 0'
runs plain 3
expect 'a job that began in plain HTTP goes on so' job_is plain '.status.mutualTLS != true and .status.restarts == 0'

k delete emj plain secure --wait=false >/dev/null
stopped() { api "/api/v1/namespaces/$namespace/pods" | jq -e '.items == []' >/dev/null; }
within 20 'both end soon when they are deleted: their leads take the command to stop' stopped
