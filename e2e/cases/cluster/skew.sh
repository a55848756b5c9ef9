#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# what a newer version has written (fields of spec and status, words of enumerations) stops neither its job nor others
# images: operator runtime jacobi
# alone: it changes the CRD
# full: what it is about changes with versions
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='skew/kept: Unreadable: '
crd=elasticmpijobs.elasticmpi.io
present=$(mktemp "${TMPDIR:-/tmp}/e2e-skew-XXXXXX")
kubectl get crd "$crd" -o json >"$present"
schema() { jq "del(.metadata.resourceVersion, .metadata.uid, .metadata.generation, .metadata.managedFields) | $1" "$present" | kubectl replace -f - >/dev/null; }
case_repair() {
  schema . || true
  rm -f "$present"
}

job kept 0
runs kept 2
before=$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')
# The next version: a field more in spec and status, and a word more in an enumeration.
schema '.spec.versions[0].schema.openAPIV3Schema.properties |= (.spec.properties.tomorrow = {type: "string"}
  | .status.properties.tomorrow = {type: "string"} | .spec.properties.autoscaling.properties.policy.properties.name.enum += ["clairvoyant"])'
newer() { # PATCH [OPTIONS]: as it would write the job; the API server takes a schema over some moments later
  k patch emj kept --type=merge -p "$1" "${@:2}" >/dev/null 2>&1 && job_is kept "$is"
}
is='.spec.tomorrow == "here"'
within 20 'the spec has a field that this version does not know' newer '{"spec": {"tomorrow": "here"}}'
is='.status.tomorrow == "here" or .status.lastResize != null'
within 20 'so has the status' newer '{"status": {"tomorrow": "here", "lastResize": {"from": 1, "to": 2, "result": "Postponed"}}}' --subresource=status
k scale emj kept --replicas=3 >/dev/null
runs kept 3
expect 'it is managed on' job_is kept '.spec.tomorrow == "here" and .status.restarts == 0 and .status.lastResize.result == "Committed" and all(.status.conditions[]; .type != "Readable")'

is='.spec.autoscaling.policy.name == "clairvoyant"'
within 20 'the spec has a word that this version does not know' newer '{"spec": {"autoscaling": {"policy": {"name": "clairvoyant"}}}}'
within 20 'it is told that it cannot be read' job_is kept '.status.reason == "Unreadable" and any(.status.conditions[]; .type == "Readable" and .status == "False" and (.message | test("clairvoyant")))'
stop_operator
start_operator
mark_log
iterates kept
expect 'an operator that finds it so leaves it running' job_is kept '.status.state == "Running" and .status.restarts == 0'
still_there() { [[ $(get_pods kept | jq -c --argjson before "$before" '[.items[].metadata.uid] | $before - .') == '[]' ]]; }
expect 'with the pods that it had' still_there
job beside 60
ends beside Succeeded
k patch emj kept --type=merge -p '{"spec": {"autoscaling": {"policy": {"name": "threshold"}}}}' >/dev/null
k scale emj kept --replicas=1 >/dev/null
runs kept 1
expect 'and goes on with it when it can be read again' job_is kept '.status.restarts == 0 and .status.reason != "Unreadable"'
