# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The settings of a node's containerd, pod network and kubelet. Sourced after lib.sh.

# Pods are wired point to point, not to a bridge: then traffic between pods of one node is routed too, and
# services work for it without the module br_netfilter. By Calico, too: it knows pods by the names of their wires.
wire() { # NAME
  case $cni in
    ptp) echo '"type": "ptp", "ipMasq": false' ;;
    calico)
      echo "\"type\": \"calico\", \"datastore_type\": \"kubernetes\", \"nodename\": \"$1\", \"nodename_file_optional\": true,
   \"mtu\": 1500, \"log_level\": \"warning\", \"log_file_path\": \"$state/log/$1.calico-cni.log\",
   \"policy\": {\"type\": \"k8s\"}, \"kubernetes\": {\"kubeconfig\": \"$state/calico.kubeconfig\"}"
      ;;
  esac
}
node_dns() { if [[ $cni == calico ]]; then echo "$node_dns_address"; else echo "$dns_service_address"; fi; }

write_node_config() { # NUMBER NAME
  local number=$1 name=$2 folder=$state/$2
  cat >"$folder/cni/10-pods.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {$(wire "$name"),
   "ipam": {"type": "host-local", "dataDir": "$folder/cni-cache/addresses",
            "ranges": [[{"subnet": "$(pod_network "$number")"}]], "routes": [{"dst": "$everywhere"}]}}]}
JSON
  # containerd knows one folder of plugins.
  mkdir -p "$folder/cni-bin"
  ln -sf /usr/lib/cni/* "$folder/cni-bin/"
  if [[ $cni == calico ]]; then ln -sf "$(program_folder calico)/calico" "$folder/cni-bin/"; fi
  # restrict_oom_score_adj: some sandboxes may not lower it. crun takes less processor time than runc does.
  cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$folder/cni-bin"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/usr/bin/crun"
TOML
  # Each node thinks it has the whole machine. failCgroupV1 matters from 1.35 on. A short lease makes a silent
  # node known within the grace period of the controller manager.
  cat >"$folder/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $state/pki/ca.crt}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: /empi-$cluster/$name
failCgroupV1: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
tlsCertFile: $state/pki/$name.crt
tlsPrivateKeyFile: $state/pki/$name.key
podLogsDir: $folder/pod-logs
address: "$any_address"
clusterDNS: ["$(node_dns)"]
clusterDomain: cluster.local
resolvConf: ""
failSwapOn: false
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
maxPods: 250
nodeLeaseDurationSeconds: 12
nodeStatusUpdateFrequency: 4s
oomScoreAdj: 0
YAML
}
