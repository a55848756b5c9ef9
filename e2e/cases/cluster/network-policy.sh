#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# where a network holds packets to NetworkPolicies, a job is resized; nobody else reaches its workers, nor do they others
# images: operator runtime jacobi
# full: it needs a cluster whose network does so (--cni calico; case [calico] starts one)
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
if [[ -n ${EMPI_CLUSTER:-} ]]; then
  use_cluster "$EMPI_CLUSTER"
  if [[ $cni != calico ]]; then
    say 'the network of this cluster holds no packet to a policy: ./dev e2e --cni calico'
    exit 77
  fi
fi
begin_case
# The API server, through which other cases ask a sidecar, is nobody whom a worker admits: so the pod itself is asked.
iterations() {
  # shellcheck disable=SC2016  # the pod's own variables
  k exec "$1" -c worker -- bash -c 'exec 3<>"/dev/tcp/$EMPI_POD_ADDRESS/7401" && printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && cat <&3' |
    awk '/^empi_iterations_total/ { sum += $2 } END { printf "%d\n", sum }'
}
# The namespace that Prometheus is expected in; another case may have made it.
prometheus=monitoring
made=
case_repair() {
  kubectl --namespace "$prometheus" delete pod network-policy --ignore-not-found --wait=false --now
  if [[ -n $made ]]; then kubectl delete namespace "$prometheus" --wait=false; fi
} >/dev/null 2>&1
if kubectl create namespace "$prometheus" >/dev/null 2>&1; then made=yes; fi
wait_until 60 "the service account of $prometheus exists" api "/api/v1/namespaces/$prometheus/serviceaccounts/default"

# Somebody with a shell, who listens where a worker's agent does as well. NAMESPACE NAME
somebody() {
  jq -n --arg name "$2" --arg image "$(image jacobi)" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name},
    spec: {terminationGracePeriodSeconds: 0, securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: "RuntimeDefault"}},
      containers: [{name: "main", image: $image, imagePullPolicy: "Never",
        command: ["perl", "-MIO::Socket::INET", "-e", "my $at = IO::Socket::INET->new(LocalPort => 7400, Listen => 8, ReuseAddr => 1) or die; while (my $peer = $at->accept) { close $peer }"],
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}]}}' |
    kubectl --namespace "$1" apply -f - >/dev/null
}
address() { kubectl --namespace "$1" get pod "$2" -o jsonpath='{.status.podIP}'; }
# Whether FROM's container gets a connection: a packet that a policy drops is not answered, so it waits for as long as it takes.
reaches() { # NAMESPACE/POD/CONTAINER ADDRESS PORT
  local pod=${1#*/}
  # shellcheck disable=SC2016  # the pod's own variables
  kubectl --namespace "${1%%/*}" exec "${pod%/*}" -c "${pod#*/}" -- timeout 5 bash -c ': <"/dev/tcp/$0/$1"' "$2" "$3" >/dev/null 2>&1
}
never_reaches() { ! reaches "$@"; }
refused_to_the_api_server() { ! api "/api/v1/namespaces/$namespace/pods/$1:7401/proxy/metrics" >/dev/null; }

job guarded 0
job other 0
somebody "$namespace" stranger
somebody "$namespace" listener
somebody "$prometheus" network-policy
# Agents find each other by name and speak, MPI connects ranks, the operator looks and commands: all through the policy.
runs guarded 2
runs other 2
iterates guarded
k scale emj guarded --replicas=4 >/dev/null
runs guarded 4
iterates guarded
k scale emj guarded --replicas=2 >/dev/null
runs guarded 2
iterates guarded
expect 'it was never interrupted' job_is guarded '(.status.restarts // 0) == 0'
expect 'it has a policy' test -n "$(k get networkpolicy guarded-workers -o name)"
k wait --for=condition=Ready pod/stranger pod/listener --timeout=240s >/dev/null
kubectl --namespace "$prometheus" wait --for=condition=Ready pod/network-policy --timeout=240s >/dev/null

mapfile -t workers < <(pods guarded)
worker=$(address "$namespace" "${workers[0]}")
listener=$(address "$namespace" listener)
api_server=$(kubectl --namespace default get service kubernetes -o jsonpath='{.spec.clusterIP}')
theirs=$namespace/$(pods other | head -n 1)/worker
ours=$namespace/${workers[1]}/worker
for port in 7400 7401; do
  expect "a worker reaches another one of its job at $port" wait_until 10 'it does' reaches "$ours" "$worker" "$port"
  expect "a pod of the same namespace does not" never_reaches "$namespace/stranger/main" "$worker" "$port"
  expect "nor does a worker of another job" never_reaches "$theirs" "$worker" "$port"
done
expect 'that pod reaches one that no policy is about' wait_until 10 'it does' reaches "$namespace/stranger/main" "$listener" 7400
expect 'a worker does not' never_reaches "$ours" "$listener" 7400
expect 'nor does it reach the API server' never_reaches "$ours" "$api_server" 443
expect 'which the other pod does' wait_until 10 'it does' reaches "$namespace/stranger/main" "$api_server" 443
expect 'Prometheus reaches the figures of a worker' wait_until 10 'it does' reaches "$prometheus/network-policy/main" "$worker" 7401
expect 'and its agent not' never_reaches "$prometheus/network-policy/main" "$worker" 7400
expect 'nor does the API server itself reach a worker, whoever asks it to' refused_to_the_api_server "${workers[0]}"
# Without the policy all of them do: it is the policy that keeps them out.
k delete networkpolicy guarded-workers >/dev/null
expect 'without the policy a pod of the same namespace reaches a worker' wait_until 10 'it does' reaches "$namespace/stranger/main" "$worker" 7400
expect 'and a worker reaches the other pod' wait_until 10 'it does' reaches "$ours" "$listener" 7400
