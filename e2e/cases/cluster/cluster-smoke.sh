#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the test cluster is a real one: pods, logs, exec, services, DNS; nodes lose their wire and their power and return
# alone: it cuts the wire of a node, and the power of another
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/case.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/case.sh"
need_own_cluster
# shellcheck source=e2e/cluster/archive.sh
source "$cluster_source/archive.sh"

image=localhost/busybox:1
static_image "$state/busybox.tar" $image '["/busybox", "sh"]' /usr/bin/busybox bin/sh bin/wget bin/nslookup bin/cat bin/httpd bin/sleep
cluster_ctl load "$state/busybox.tar"
rm -f "$state/busybox.tar"
make_namespace
case_repair() { # whatever the case broke
  cluster_ctl mend node-2
  [[ -e $state/pid/node-3.init ]] || cluster_ctl power-on node-3
} 2>/dev/null

# The programs of another version are in the cache as well.
of_version() { # VERSION
  [[ $(kubectl get --raw /version | jq -r .gitVersion) == "$1" ]] &&
    kubectl get nodes -o json | jq -e --arg version "$1" '.items | length > 0 and all(.status.nodeInfo.kubeletVersion == $version)' >/dev/null
}
expect "API server and nodes are of Kubernetes $(kubernetes_version), which was asked for" of_version "v$(kubernetes_version)"

pod() { # NAME NODE SCRIPT: a pod that the restricted profile admits
  k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: $1}}
spec:
  nodeName: $2
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: main
      image: $image
      imagePullPolicy: Never
      command: [/bin/sh, -c, '$3']
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
YAML
}

pod web node-1 'echo it runs; echo hello >/tmp/index.html; exec /bin/httpd -f -p 8080 -h /tmp'
pod client node-2 'exec /bin/sleep 86400'
pod neighbour node-1 'exec /bin/sleep 86400'
k expose pod web --port 80 --target-port 8080 >/dev/null
k wait --for=condition=Ready pod --all --timeout=480s >/dev/null

logs_say() { [[ $(pod_log web) == "$1" ]]; }
says() { [[ $(k exec "$1" -- "${@:3}" 2>/dev/null) == *"$2"* ]]; }
expect 'logs show what a pod prints' wait_until 30 'the log is there' logs_say 'it runs'
expect 'exec runs a command in a pod' says client here /bin/sh -c 'echo here'
expect 'the API server answers on its ClusterIP (401 or 403: it asks who is there)' says client 40 \
  /bin/sh -c "wget -qO- --no-check-certificate https://$(host "$api_service_address")/api 2>&1 || true"
expect 'a service of another node answers by name' wait_until 30 'web answers' says client hello wget -T 2 -qO- http://web.cluster-smoke.svc.cluster.local
expect 'a service of the same node answers' wait_until 30 'web answers' says neighbour hello wget -T 2 -qO- http://web

cluster_ctl cut node-2
expect 'a node without its wire becomes NotReady' wait_until 90 'node-2 is unknown' node_is node-2 Unknown
cluster_ctl mend node-2
expect 'and Ready when the wire is back' wait_until 90 'node-2 is ready' node_is node-2 True
expect 'its pod has lived on and is reached' wait_until 60 'exec works' says client here /bin/sh -c 'echo here'

pod victim node-3 'exec /bin/sleep 86400'
k wait --for=condition=Ready pod/victim --timeout=240s >/dev/null
cluster_ctl power-off node-3
expect 'a node without power becomes NotReady' wait_until 90 'node-3 is unknown' node_is node-3 Unknown
cluster_ctl power-on node-3
expect 'and Ready when it boots again' wait_until 90 'node-3 is ready' node_is node-3 True
restarted() { get_object pod/victim | jq -e '.status.containerStatuses[0] | .restartCount == 1 and .ready' >/dev/null; }
expect 'it starts its pod again, once' wait_until 90 'victim is back' restarted
