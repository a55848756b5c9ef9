#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the root key is replaced twice under a job that is resized meanwhile, which then refuses tokens and certificates of the first
# images: operator runtime jacobi
# alone: the key is that of every job
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
root_key=elastic-mpi-operator-root-key

# Kubelets bring a Secret to pods within a minute or two; to one that changes at once, so a case need not wait for it.
touched=0
touch_pods() { # NAMESPACE SELECTOR
  kubectl --namespace "$1" annotate --overwrite pods --selector "$2" "touched=$((++touched))" >/dev/null
}
keys() { kubectl --namespace "$system" get secret "$root_key" -o jsonpath='{.data.key}' | base64 -d; }
# In the first line a new key, in the second the one that was in the first.
rotate() {
  local old
  old=$(keys | head -n 1)
  new=$(openssl rand -hex 32)
  kubectl --namespace "$system" patch secret "$root_key" --type=merge \
    -p "{\"data\": {\"key\": \"$(printf '%s\n' "$new" "$old" | base64 --wrap=0)\"}}" >/dev/null
  token=$(token_of "$new")
}
token_of() { printf '%s' "$(value kept .metadata.uid)" | openssl dgst -sha256 -hmac "$1" -hex | sed 's/.*= *//'; } # KEY
# Asked by a certificate of the new key alone: a pod that answers trusts its authority.
# The operator has it from a request that is refused, and writes the job's Secret anew.
job_has_it() {
  [[ $(k get secret kept-token -o jsonpath='{.data.token}' | base64 -d | head -n 1) == "$token" ]] ||
    { touch_pods "$system" app.kubernetes.io/name=elastic-mpi-operator && false; }
}
pods_have_it() {
  local pod
  for pod in $(pods kept); do
    if ! answers 200 epoch "$pod" "$token" GET /v1/membership; then
      touch_pods "$namespace" elasticmpi.io/job-name=kept
      return 1
    fi
  done
}

job kept 0
runs kept 2
first_key=$(keys | head -n 1)
first=$(token_of "$first_key")
rotate
within 40 'a job that runs gets a token of the new key' job_has_it
k scale emj kept --replicas=3 >/dev/null
runs kept 3
iterates kept
within 40 'its pods take the new token' pods_have_it
rotate
within 40 'a token of the third key takes its place' job_has_it
k scale emj kept --replicas=1 >/dev/null
runs kept 1
k scale emj kept --replicas=2 >/dev/null
runs kept 2
iterates kept
expect 'a pod made since then takes it from the beginning' answers 200 epoch "$(pods kept | tail -n 1)" "$token" GET /v1/membership
expect 'and refuses one of the first key, which is in no line any more' answers 401 token "$(pods kept | tail -n 1)" "$first" GET /v1/membership
controller_pem=$(mktemp "${TMPDIR:-/tmp}/e2e-rotate-XXXXXX")
controller_of kept "$first_key" >"$controller_pem"
expect 'nor does it hear who has a certificate of that key' answers none none "$(pods kept | tail -n 1)" "$token" GET /v1/membership
rm "$controller_pem"
expect 'all the time the lead answered' job_is kept '.status.restarts == 0 and (.status.conditions | all(.type != "Degraded"))'
k delete emj kept --wait=false >/dev/null
stopped() { pods_are kept 'length == 0'; }
within 20 'its pods end soon when it is deleted: the lead takes the command to stop' stopped
