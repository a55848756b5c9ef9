# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The daemons of the control plane, each startable again by its name. Sourced after lib.sh.

start_etcd() {
  # It is thrown away with the cluster: no need to wait for the disk.
  daemon etcd etcd --data-dir "$state/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
}

# What the operator asks of the API server is written down, for [rbac]: no other user's requests.
audit_policy() {
  cat <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    users: ["system:serviceaccount:elastic-mpi-system:elastic-mpi-operator"]
  - level: None
POLICY
}

# Services lead nowhere from here, where no kube-proxy is: an aggregated API server is reached by its endpoints.
start_apiserver() {
  local pki=$state/pki
  audit_policy >"$state/audit-policy.yaml"
  daemon apiserver kube-apiserver \
    --etcd-servers=http://127.0.0.1:2379 \
    --bind-address="$any_address" \
    --advertise-address="$control_address" \
    --service-cluster-ip-range="$service_network" \
    --allow-privileged=true \
    --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction \
    --client-ca-file="$pki/ca.crt" \
    --tls-cert-file="$pki/apiserver.crt" \
    --tls-private-key-file="$pki/apiserver.key" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key" \
    --kubelet-client-certificate="$pki/kubelet-client.crt" \
    --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP \
    --endpoint-reconciler-type=lease \
    --enable-aggregator-routing=true \
    --requestheader-client-ca-file="$pki/front-proxy-ca.crt" \
    --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User \
    --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$pki/front-proxy-client.crt" \
    --proxy-client-key-file="$pki/front-proxy-client.key" \
    --audit-policy-file="$state/audit-policy.yaml" \
    --audit-log-path="$state/audit.log" \
    --profiling=false
}

# A node that is silent for 16 s is NotReady (the default is 50 s; less is unsafe on a busy machine), or as long as
# $state/node-grace says.
start_controller-manager() {
  daemon controller-manager kube-controller-manager \
    --kubeconfig="$state/controller-manager.kubeconfig" \
    --service-account-private-key-file="$state/pki/service-accounts.key" \
    --root-ca-file="$state/pki/ca.crt" \
    --use-service-account-credentials=true \
    --leader-elect=false \
    --node-monitor-grace-period="$(cat "$state/node-grace" 2>/dev/null || echo 16s)" \
    --node-monitor-period=1s
}

start_scheduler() {
  daemon scheduler kube-scheduler --kubeconfig="$state/scheduler.kubeconfig" --leader-elect=false
}

# Runs beside the control plane, not as a pod, so that it needs no image; pods reach it by its service.
corefile() { # LINE
  cat <<COREFILE
.:53 {
    errors
    $1
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig $state/dns.kubeconfig
        ttl 5
    }
}
COREFILE
}
start_dns() {
  corefile "ready $(host "$control_address"):8181" >"$state/Corefile"
  daemon dns coredns -conf "$state/Corefile"
}

# What Calico keeps in the API server, and that there is nothing to wait for. Its agents and plugins try until it is there.
calico_objects() {
  kubectl apply --server-side -f "$(program_folder calico)/crds" >/dev/null
  kubectl wait --for=condition=Established --timeout=60s crd/clusterinformations.crd.projectcalico.org >/dev/null
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: crd.projectcalico.org/v1
kind: ClusterInformation
metadata: {name: default}
spec: {datastoreReady: true, clusterType: k8s, clusterGUID: "1"}
YAML
}

# With the addresses of this cluster.
dns_objects() {
  sed -e "s/@service@/$dns_service_address/; s/@address@/$control_address/; s/@type@/$address_type/" "$cluster_source/dns.yaml"
}

apiserver_ready() { [[ $(curl -s --cacert "$state/pki/ca.crt" "https://$(host "$control_address"):6443/readyz") == ok ]]; }
dns_ready() { [[ $(curl -s "http://$(host "$control_address"):8181/ready") == OK ]]; }
