#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# helm/install.yaml is what the chart renders today; the API server takes it, and the chart with every option on
# alone: it applies what others have installed
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/case.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/case.sh"
root=$(cd "$cluster_source/../.." && pwd)
make_namespace

render() { bash "$cluster_source/manifest.sh" "$@" 2>/dev/null; }
dry_run() { sed "s/namespace: elastic-mpi$/namespace: $namespace/" | kubectl apply --server-side --force-conflicts --dry-run=server -f - >/dev/null; }
rendered() { render | diff -u "$root/helm/install.yaml" - >&2; }
taken() { dry_run <"$root/helm/install.yaml"; }
# The Prometheus operator's kinds are not here.
taken_with_options() {
  render --set dashboard=true,replicas=1,watchNamespace=elastic-mpi | dry_run
}

expect 'helm/install.yaml is up to date (else: ./dev e2e manifest >helm/install.yaml)' rendered
expect 'the API server takes it' taken
taken_with_queues() { render --set queues.enabled=true "$@" | dry_run; }
expect 'the API server takes the chart with queues' taken_with_queues
expect 'with queues of one namespace as well' taken_with_queues --set watchNamespace=elastic-mpi
expect 'the API server takes the chart for one namespace, with the dashboard' taken_with_options
# has KIND REGEX VALUES...: the chart's object of that kind, rendered with them, has such a line; has_not: none.
object() { render "${@:2}" | awk -v RS='---\n' -v kind="$1" '$0 ~ "(^|\n)kind: " kind "\n"'; }
has() { object "$1" "${@:3}" | grep -Eq "$2"; }
has_not() { object "$1" "${@:3}" | grep . >/dev/null && ! has "$@"; }
digest=sha256:$(printf '%064d' 1)
expect 'a cloud identity is bound to its account' has ServiceAccount '^    iam: me$' --set serviceAccount.annotations.iam=me
expect 'its replicas may be spread' has Deployment '^        - maxSkew: 1$' \
  --set-json 'topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]'
expect 'it has a user of its own' has Deployment 'runAsUser: 65532'
expect 'unless the platform chooses one' has_not Deployment runAsUser --set podSecurityContext.runAsUser=null
expect 'for workers, too' has Deployment '^ +- --worker-user=0$' --set options.workerUser=0
expect 'DNS may be nowhere on the nodes' has Deployment '^ +- --dns-address=$' --set options.dnsAddress=
expect 'the runtime image is pulled with secrets' has Deployment '^ +- --runtime-pull-secret=mirror$' \
  --set 'sidecar.pullSecrets={registry,mirror}'
expect 'sidecars have limits' has Deployment '^ +- --sidecar-cpu-limit=1$' --set sidecar.limits.cpu=1
expect 'images are pulled with a secret' has Deployment '^ +- name: registry$' --set 'image.pullSecrets[0].name=registry'
expect 'images are named by digest' has Deployment "image: .*elastic-mpi-operator@$digest\$" --set image.digests.operator="$digest"
# Two in one cluster, each for a namespace of its own: of what one has the other one has nothing.
objects() { render "$@" | awk '/^kind:/ { kind = $2 } /^  name:/ { print kind, $2 }' | sort -u; }
shared() { comm -12 <(objects --set queues.enabled=true,watchNamespace=a) <(objects --set queues.enabled=true,watchNamespace=b,fullnameOverride=second,rootKey.name=,crds.install=false,userRoles=false "$@"); }
beside() { ! shared | grep . >/dev/null; }
expect 'a second one stands beside it' beside
beside_more() { [[ $(shared --set rootKey.name=elastic-mpi-root-key,userRoles=true | wc -l) == 3 ]]; }
expect 'which this would show' beside_more
expect 'with a lease of its own' has Deployment '^ +- --lease-name=second$' --set fullnameOverride=second
expect 'and may write no other one' has Role '^    resourceNames: \[second\]$' --set fullnameOverride=second
expect 'workers know it by its label' has Deployment '^        app.kubernetes.io/name: elastic-mpi-operator' --set fullnameOverride=second
labelled() { [[ $(render --set serviceMonitor=true,podMonitor=true,dashboard=true,alerts=true,monitoringLabels.release=prometheus | grep -c '^    release: prometheus$') == 4 ]]; }
expect 'Prometheus finds its objects by a label' labelled
expect 'the dashboard is JSON' jq -e '.panels | length > 5' "$root/helm/elastic-mpi/dashboards/elastic-mpi.json"
expect 'helm lint is content' helm lint --strict "$root/helm/elastic-mpi"
