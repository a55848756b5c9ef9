#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chart, CRD, operator and images of an older commit (--from) become the present ones under a job, which runs on and is resized; then the older ones again
# images: operator runtime jacobi
# from: 62df26d
# alone: it replaces the operator and its CRD
# full: it builds an older commit
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
if [[ -z ${EMPI_FROM:-} ]]; then
  say 'needs the images of an older commit, on the cluster of ./dev e2e up'
  exit 77
fi
older=/cache/from/$EMPI_FROM/helm/elastic-mpi tag=${EMPI_FROM:0:12}
crd=elasticmpijobs.elasticmpi.io
make_namespace

# The older version, as it was installed then: its chart, its CRD, its images.
helm uninstall elastic-mpi --namespace "$system" --wait >/dev/null 2>&1 || true
kubectl get crd -o name | { grep '\.elasticmpi\.io$' || true; } | xargs -r kubectl delete --timeout=60s >/dev/null
kubectl delete namespace "$system" --ignore-not-found --timeout=60s >/dev/null
helm install elastic-mpi "$older" --namespace "$system" --create-namespace --set image.registry=localhost,image.tag="$tag" \
  --set options.leaseSeconds=6,options.renewSeconds=4,options.retrySeconds=1,options.lookSeconds=2 >/dev/null ||
  fail "helm could not install the operator of $EMPI_FROM"
operator_ready
mark_log
operator_is() { # IMAGE
  get_operators | jq -e --arg image "$1" '.items | length > 0 and all(.spec.containers[0].image == $image)' >/dev/null
}
expect 'the operator is the older one' operator_is "localhost/elastic-mpi-operator:$tag"
old_operators=$(operator_pods | sort)

EMPI_IMAGE_TAG=$tag job kept 0
runs kept 2
k scale emj kept --replicas=3 >/dev/null
runs kept 3
runtime=$(value kept .status.runtimeImage)
before=$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')
old_schema=$(kubectl get crd "$crd" -o json | jq -c .spec | sha256sum)

start=$EPOCHREALTIME
helm_upgrade --set replicas=2
say "upgraded after $(elapsed "$start") s"
new_pods() { [[ -z $(comm -12 <(echo "$old_operators") <(operator_pods | sort)) ]]; }
within 60 'the operator'"'"'s pods are new ones' new_pods
mark_log
within 20 'it is the present one' operator_is "$(image operator)"
if cmp -s "/cache/from/$EMPI_FROM/crds/elasticmpijob.yaml" "$project/crds/elasticmpijob.yaml"; then
  say 'the CRD of both is the same'
else
  expect 'so is the CRD' test "$old_schema" != "$(kubectl get crd "$crd" -o json | jq -c .spec | sha256sum)"
fi
expect 'the workers are the same' test "$before" = "$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')"
iterates kept
# Newcomers get the agent and the library that the run began with.
k scale emj kept --replicas=4 >/dev/null
runs kept 4
iterates kept
k scale emj kept --replicas=1 >/dev/null
runs kept 1
iterates kept
expect 'it was not restarted' job_is kept '(.status.restarts // 0) == 0'
expect 'and has the runtime that it began with' test "$runtime" = "$(value kept .status.runtimeImage)"

# What begins now is all of the present; and so is the next run of what was begun before.
job fresh 60
ends fresh Succeeded
expect 'a new job has the present runtime' test "$(value fresh .status.runtimeImage)" = "$(image runtime)"
k patch emj kept --type=merge -p '{"spec": {"suspend": true}}' >/dev/null
within 60 'the older job is suspended' job_is kept '.status.state == "Suspended"'
k patch emj kept --type=merge -p '{"spec": {"suspend": false}}' >/dev/null
runs kept 1
expect 'its next run has the present runtime' test "$(value kept .status.runtimeImage)" = "$(image runtime)"
iterates kept

# The upgrade is taken back: the older operator goes on with a run whose agents and status the newer one has made.
before=$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')
new_operators=$(operator_pods | sort)
start=$EPOCHREALTIME
helm rollback elastic-mpi 1 --namespace "$system" --wait --timeout 120s >/dev/null || fail 'helm could not take the upgrade back'
say "taken back after $(elapsed "$start") s"
older_pods() { [[ -z $(comm -12 <(echo "$new_operators") <(operator_pods | sort)) ]]; }
within 60 'the operator'"'"'s pods are the older ones again' older_pods
mark_log
within 20 'it is the older one' operator_is "localhost/elastic-mpi-operator:$tag"
expect 'the workers are the same' test "$before" = "$(get_pods kept | jq -c '[.items[].metadata.uid] | sort')"
iterates kept
k scale emj kept --replicas=3 >/dev/null
runs kept 3
iterates kept
k scale emj kept --replicas=2 >/dev/null
runs kept 2
iterates kept
expect 'it was not restarted' job_is kept '(.status.restarts // 0) == 0'
