#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# helm installs an operator that is ready, may do no more than it needs, and runs a job
# images: operator runtime jacobi
# alone: it removes the operator and its CRD
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
make_namespace
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null 2>&1 || true
kubectl delete crd elasticmpijobs.elasticmpi.io --ignore-not-found --timeout=60s >/dev/null
fresh_namespace "$system"

expect 'helm lint finds nothing' helm lint --strict --quiet "$chart"
start=$EPOCHREALTIME
need_operator
mark_log
say "ready $(elapsed "$start") s after helm began"
expect 'the CRD is established' kubectl wait --for=condition=Established crd/elasticmpijobs.elasticmpi.io --timeout=60s
within 15 'one of the two leads' leader
server_version=$(api /version | jq -r .gitVersion)
server_takes() { # VALUES...: what helm renders, as the API server sees it
  helm template elastic-mpi "$chart" --namespace "$system" --kube-version "$server_version" --set image.registry=localhost "$@" 2>/dev/null |
    kubectl apply --dry-run=server --server-side --force-conflicts -f - >/dev/null
}
expect 'the API server takes what helm template renders' server_takes
more=(--set 'serviceAccount.name=mpi,extraArgs[0]=--version,extraEnv[0].name=TZ,extraEnv[0].value=UTC')
expect 'and with values of every kind' server_takes "${more[@]}"
renders() { helm template elastic-mpi "$chart" --kube-version "$server_version" --set image.registry=localhost "${more[@]}" --set serviceMonitor=true,podMonitor=true,monitorInterval=45s; }
said() { [[ $(renders 2>/dev/null | grep -Ec '^ *(interval: 45s|serviceAccountName: mpi|name: mpi|- "--version"|- name: TZ)$') == "$1" ]]; }
expect 'they stand where they belong' said 8
refused() { ! refusal=$(helm template "$chart" --kube-version "$server_version" "${@:2}" 2>&1) && [[ $refusal == *"$1"* ]]; }
expect 'values that nobody knows are refused' refused replicaz --set image.registry=localhost,replicaz=1
expect 'that images come from somewhere is asked for' refused 'image.registry: say where'

rules() { kubectl get clusterroles,roles --all-namespaces -l app.kubernetes.io/instance=elastic-mpi -o json | jq '[.items[].rules[]]'; }
no_wildcard() { rules | jq -e 'length > 5 and all(.[]; [.apiGroups[], .resources[], .verbs[]] | index("*") | not)' >/dev/null; }
expect 'its RBAC has no wildcard' no_wildcard
may() { [[ $(kubectl auth can-i "$@" --as="system:serviceaccount:$system:elastic-mpi-operator" --all-namespaces) == yes ]]; }
may_not() { ! may "$@" 2>/dev/null; }
expect 'it may create pods' may create pods
for verb in get list watch; do expect "it may not $verb secrets" may_not $verb secrets; done
expect 'for its queues it may see nodes' may list nodes
expect 'and not change them' may_not patch nodes
expect 'it may not write jobs as a whole' may_not update elasticmpijobs
expect 'it may not enter pods' may_not create pods --subresource=exec

metrics() { api "/api/v1/namespaces/$system/pods/$(leader):8080/proxy/metrics"; }
no_shell() { ! said=$(kubectl --namespace "$system" exec "$(leader)" -- /bin/sh -c true 2>&1) && [[ ${said,,} == *'no such file'* ]]; } # crun writes it with a capital
expect 'its image has no shell' no_shell
leads() { metrics | grep '^empi_operator_leader 1$' >/dev/null; }
within 10 'the leader says so in its metrics' leads

job first 60
ends first Succeeded
counted() { metrics | grep '^empi_operator_jobs{state="Succeeded"} [1-9]' >/dev/null; }
within 10 'and counts the job' counted # when its pass over the job is over
