#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts what ./dev bench k8s-scale and k8s-queue need, inside the control plane of a fresh cluster, and measures:
# simulated nodes (kwok), one process for the agents of all pods (stub_leads), the operator.
# Usage: k8s_scale.sh scale|queue FOLDER-OF-PROGRAMS LOG-FOLDER [OPTIONS OF THE BENCHMARK] [--threads N] [--qps N]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=e2e/cluster/lib.sh
source "$here/../../../../e2e/cluster/lib.sh"
what=$1 programs=$2 logs=$3
shift 3
case $what in
  scale) options='--jobs --pods --rate --seconds --patience' ;;
  queue) options='--jobs --starts --yields --rate --patience' ;;
  *) fail "k8s_scale.sh: measures scale or queue, not '$what'" ;;
esac

pod_addresses=10.128.0.0/16 # of simulated pods
nodes=20
metrics_port=18080
load=() operator=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --threads | --qps) operator+=("$1" "${2:?$1 wants a number}") ;;
    *)
      [[ " $options " == *" $1 "* ]] || fail "k8s-$what: there is no option '$1': $options --threads --qps"
      load+=("$1" "${2:?$1 wants a number}")
      ;;
  esac
  shift 2
done

# The operator has the last core for itself, where there is more than one; what stands beside it here, the others.
last=$(($(nproc) - 1))
if [[ $last -gt 0 ]]; then alone=(taskset -c "$last") beside=(taskset -c "0-$((last - 1))"); else alone=() beside=(); fi
leave_it_alone() {
  local name pid
  [[ $last -gt 0 ]] || return 0
  for name in etcd kube-apiserver kube-scheduler kube-controller kwok stub_leads; do
    for pid in $(pgrep -x "$name" || true); do taskset -apc "0-$((last - 1))" "$pid" >/dev/null || true; done
  done
}

started=()
end() {
  local pid
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
}
trap end EXIT
trap 'exit 130' INT TERM
start() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"$logs/$name.log" 2>&1 &
  started+=("$!")
}

ip route add local "$pod_addresses" dev lo
for kind in job queue; do kubectl apply --server-side -f "$here/../../../../crds/elastic${kind/#job/mpijob}.yaml" >/dev/null; done
# kubectl wait fails on a definition that has no conditions yet.
wait_until 60 'the API server serves ElasticMPIJobs' kubectl get elasticmpijobs --all-namespaces
wait_until 60 'the API server serves ElasticQueues' kubectl get elasticqueues
for name in scale elastic-mpi-system; do kubectl create namespace "$name" >/dev/null; done
for ((i = 0; i < nodes; ++i)); do
  cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: simulated-$i
  labels: {type: kwok, kubernetes.io/hostname: simulated-$i}
  annotations: {kwok.x-k8s.io/node: fake}
spec:
  taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
status:
  allocatable: {cpu: "1000", memory: 10Ti, pods: "5000"}
  capacity: {cpu: "1000", memory: 10Ti, pods: "5000"}
YAML
done | kubectl apply -f - >/dev/null
# A simulated node that is late with its lease loses nothing; but the pods of one that counts as lost are marked not
# Ready, by the thousand, and no kubelet is there to mark them Ready again.
use_cluster "$EMPI_CLUSTER"
echo 1h >"$state/node-grace"
for verb in stop start; do bash "$cluster_source/ctl.sh" "$cluster" $verb controller-manager; done
# By default kwok brings up four pods at a time and waits for the API server in between.
cat >"$logs/kwok.yaml" <<'YAML'
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options: {podPlayStageParallelism: 32, nodeLeaseParallelism: 20}
YAML
start kwok kwok --config "$logs/kwok.yaml" --kubeconfig "$KUBECONFIG" --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake \
  --cidr "${pod_addresses%.0/*}.1/16" --node-lease-duration-seconds 40 -v WARN
kubectl wait --for=condition=Ready node -l type=kwok --timeout=120s >/dev/null || fail 'the simulated nodes are not Ready: see kwok.log'
start stub_leads "$programs/stub_leads"
leads_pid=${started[-1]}

openssl rand -hex 32 >"$logs/root-key"
# The stubs speak plain HTTP, which costs the operator less than TLS would.
# A machine that is too busy for the API server to answer at once ends no run: the lease is a patient one.
[[ $what == scale ]] || operator+=(--queues)
leave_it_alone
start operator "${alone[@]}" "$programs/elastic-mpi-operator" --root-key "$logs/root-key" --port $metrics_port --no-mutual-tls \
  --lease-namespace elastic-mpi-system --lease-seconds 90 --renew-seconds 60 --retry-seconds 5 "${operator[@]}"
pid=${started[-1]}
leads() { curl -s "http://127.0.0.1:$metrics_port/metrics" | grep -q '^empi_operator_leader 1'; }
wait_until 60 'the operator leads (see operator.log)' leads

if [[ $what == scale ]]; then
  "${beside[@]}" "$programs/bench_k8s_scale" idle --pid "$pid" --metrics $metrics_port --seconds 20
  measure=("$programs/bench_k8s_scale" load --leads "$leads_pid")
else
  measure=("$programs/bench_k8s_queue")
fi
"${beside[@]}" "${measure[@]}" --pid "$pid" --metrics $metrics_port "${load[@]}" ||
  fail "k8s-$what: see operator.log, stub_leads.log and kwok.log in $logs"
# What stands beside the operator on this machine.
for name in etcd kube-apiserver kube-scheduler kube-controller kwok stub_leads elastic-mpi-ope; do
  ps -C "$name" -o rss=,cputimes=,comm= | awk '{ printf "%s: %d MiB, %d s of processor time\n", $3, $1 / 1024, $2 }' >&2
done
say "k8s-$what: load of the machine at the end: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
