# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the operator's cases share: the operator, installed by its chart, and jobs on it. A case that sources this
# begins with `begin_case`, makes jobs by `job`, states promises by `within` and `expect`, and ends by itself; then
# the operator's log is looked through for what nobody expected (lib/log.sh).

# shellcheck source=e2e/cases/cluster/lib/case.sh
source "$(dirname "${BASH_SOURCE[0]}")/case.sh"
# shellcheck source=e2e/cases/cluster/lib/log.sh
source "$(dirname "${BASH_SOURCE[0]}")/log.sh"
# shellcheck source=e2e/cases/cluster/lib/jobs.sh
source "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

project=$(cd "$cluster_source/../.." && pwd -P)
chart=$project/helm/elastic-mpi
system=elastic-mpi-system

# The case's namespace, and the operator ready.
begin_case() {
  make_namespace
  need_operator
  mark_log
}

# Jobs first: their programs are told to stop, so that no pod takes its whole grace.
close_case() {
  api "/apis/elasticmpi.io/v1alpha1/namespaces/$namespace/elasticmpijobs" -X DELETE >/dev/null 2>&1 ||
    kubectl -n "$namespace" delete elasticmpijobs --all --wait=false >/dev/null 2>&1 || true
}

# --- the operator ------------------------------------------------------------------------------------------

# Values of every installation in cases: a short lease, so that a change of leader takes seconds (a busy machine's API server
# may be silent for five). The annotation changes with the image, and with it the pods.
operator_values() {
  local image tar=$project/build/images/operator.tar
  image=$(image operator)
  printf '%s\n' --set "image.registry=${image%/*}" --set "image.tag=${image##*:}" \
    --set options.leaseSeconds=10 --set options.renewSeconds=8 --set options.retrySeconds=1 \
    --set options.lookSeconds=2 --set queues.enabled=true --set-string "podAnnotations.image=$(stat -c %Y "$tar" 2>/dev/null || echo given)"
}

# helm_upgrade [OPTIONS]: installs or upgrades, and waits until the operator is ready.
helm_upgrade() {
  local values
  mapfile -t values < <(operator_values)
  helm upgrade --install elastic-mpi "$chart" --namespace "$system" --create-namespace "${values[@]}" "$@" >/dev/null 2>&1 ||
    fail "helm could not install the operator: $(helm status elastic-mpi --namespace "$system" 2>&1 | head -n 5)"
  operator_ready
}
operator_deployment=/apis/apps/v1/namespaces/$system/deployments/elastic-mpi-operator
operator_ready() { kubectl --namespace "$system" rollout status deployment/elastic-mpi-operator --timeout=120s >/dev/null; }

# Installs the operator unless it is there as cases want it. One case does, the others wait for it.
need_operator() {
  local values lock
  exec {lock}<"$chart/Chart.yaml"
  flock "$lock"
  values=$(operator_values | sha256sum | cut -c1-16)$(cat "$chart"/values.yaml "$chart"/templates/* "$chart"/crd/* | sha256sum | cut -c1-16)
  if [[ $(api "$operator_deployment" | jq -r '"\(.metadata.annotations.e2e) \(.status.readyReplicas)"') != "$values 2" ]]; then
    helm_upgrade --set replicas=2
    kubectl --namespace "$system" annotate --overwrite deployment elastic-mpi-operator "e2e=$values" >/dev/null
  fi
  exec {lock}<&-
}

# The pod that leads, as the lease says: its holder is HOST_..., and a pod's host name is its own.
leader() {
  api "/apis/coordination.k8s.io/v1/namespaces/$system/leases/elastic-mpi-operator" | jq -er '.spec.holderIdentity | select(. != "") | split("_")[0]'
}
get_operators() { api "/api/v1/namespaces/$system/pods?labelSelector=app.kubernetes.io/name%3Delastic-mpi-operator"; }
operator_pods() { get_operators | jq -r '.items[].metadata.name'; }
both_ready() { api "$operator_deployment" | jq -e '.status.readyReplicas == 2' >/dev/null; }

# Without the operator (no process of it is left), and with it again.
stop_operator() {
  kubectl --namespace "$system" scale deployment/elastic-mpi-operator --replicas=0 >/dev/null
  wait_until 60 'the operator is gone' no_operator
}
no_operator() { get_operators | jq -e '.items == []' >/dev/null; }
start_operator() {
  kubectl --namespace "$system" scale deployment/elastic-mpi-operator --replicas=2 >/dev/null
  operator_ready
}

# An operator of our own, a process beside the control plane: for one namespace, without a lease. Its program is what
# the image has. own_operator KEY LOG [OPTIONS]: replaces the shell that calls it.
own_operator() {
  exec "$project/build/images/context/bin/elastic-mpi-operator" --kubeconfig "$KUBECONFIG" --namespace "$namespace" \
    --no-leader-election --root-key "$1" --runtime-image "$(image runtime)" --operator-namespace "$system" \
    --port 0 --look-seconds 1 "${@:3}" >>"$2" 2>&1
}
