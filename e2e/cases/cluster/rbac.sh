#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the operator has the rights that docs/operate.md lists, uses each of them, and is never refused one
# images: operator runtime jacobi
# alone: while other cases remove the operator it is refused everything
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
expected_log='exists already and is not of this job'
need_own_cluster
before=$(wc -l <"$state/audit.log" 2>/dev/null || echo 0)
begin_case

# One line for each right that is bound to the operator's account: GROUP RESOURCE VERB.
granted() {
  kubectl get clusterrolebindings,rolebindings,clusterroles,roles --all-namespaces -o json |
    jq -r --arg system "$system" '
      [.items[] | select(.roleRef and any(.subjects[]?; .namespace == $system and .name == "elastic-mpi-operator")) | .roleRef.name] as $names
      | .items[] | select(.rules and (.metadata.name | IN($names[]))) | .rules[]
      | .apiGroups[] as $group | .resources[] as $resource | .verbs[] | "\($group | sub("^$"; "core")) \($resource) \(.)"' |
    sort -u
}
# The table of the guide; `rare`: those that no case can count on to see.
listed() { # all|common
  # shellcheck disable=SC2016  # backquotes of the table
  sed -n '/<!-- rights -->/,/<!-- \/rights -->/p' "$project/docs/operate.md" |
    sed -n 's/^| `\([^`]*\)` | `\([^`]*\)` | \([^|]*\) | \(.*\) |$/\1\t\2\t\3\t\4/p' |
    while IFS=$'\t' read -r group resource verbs why; do
      [[ $1 == all || $why != rare:* ]] || continue
      for verb in ${verbs//,/}; do echo "$group $resource $verb"; done
    done | sort -u
}
# What the operator has asked since the cluster began, in the same words: the audit log has nobody else's requests.
asked() {
  jq -r 'select(.objectRef) | "\(.objectRef.apiGroup // "core") \(.objectRef.resource)\(.objectRef.subresource // "" | sub("^(?=.)"; "/")) \(.verb)"' "$state/audit.log" | sort -u
}
refused() { tail -n +$((before + 1)) "$state/audit.log" | jq -r 'select(.annotations["authorization.k8s.io/decision"] == "forbid") | "\(.verb) \(.requestURI)"' | sort -u; }

as_listed() { diff <(listed all) <(granted) >&2; }
expect 'the guide lists what the chart grants' as_listed

foreign() { # KIND OBJECT JOB SPEC: somebody else's object, of a name that the job's own would have
  kubectl -n "$namespace" create -f - >/dev/null <<<"{\"apiVersion\": \"$1\", \"kind\": \"$2\", \"metadata\": {\"name\": \"$3\"}, \"spec\": $4}"
}
foreign v1 Service taken-a-workers '{"clusterIP": "None", "ports": [{"port": 1}]}'
foreign networking.k8s.io/v1 NetworkPolicy taken-b-workers '{"podSelector": {"matchLabels": {"nobody": "nobody"}}}'
k create secret generic taken-c-token >/dev/null
for name in taken-a taken-b taken-c; do job $name 60; done
case_repair() { kubectl delete elasticqueue rbac --ignore-not-found --wait=false >/dev/null; }
kubectl create -f - >/dev/null <<'YAML'
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticQueue
metadata: {name: rbac}
spec: {namespaces: [nobody], pools: [{name: none, quota: {cpu: "1"}}]}
YAML
job scaled 0 'del(.spec.worker.replicas) | .spec.autoscaling = {mode: "Auto", policy: {name: "stepping", stepping: {step: 1, intervalSeconds: 1}},
  cooldownSeconds: 0, scaleUpStabilizationSeconds: 0, minIterations: 1, minExpectedGainPercent: 0} | .spec.worker.maxReplicas = 2'
job short 30 '.spec.runPolicy.ttlSecondsAfterFinished = 1'
runs scaled 2
k scale emj scaled --replicas=1 >/dev/null
runs scaled 1
k annotate emj scaled elasticmpi.io/resume-autoscaling=true >/dev/null
within 60 'a job that has ended is deleted after its time' gone emj/short

unused() { comm -23 <(listed common) <(asked); }
all_used() { [[ -z $(unused) ]]; }
case_show() { say "never used: $(unused | paste -sd,)"; say "refused: $(refused | paste -sd,)"; }
within 30 'every right is used' all_used
none_refused() { [[ -z $(refused) ]]; }
expect 'none that it wanted was refused' none_refused
