#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the API server refuses what cannot work, naming the field; it takes and refuses as empi does
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

# A dry run of a manifest, read strictly; prints the server's words when it refuses.
offer() { # FILE
  local path=namespaces/$namespace/elasticmpijobs
  [[ $1 != */queues/* ]] || path=elasticqueues
  sed "s/^  namespace: .*/  namespace: $namespace/" "$1" |
    curl --silent --max-time 10 --unix-socket "$api_socket" -H 'Content-Type: application/yaml' --data-binary @- \
        "http://localhost/apis/elasticmpi.io/v1alpha1/$path?dryRun=All&fieldValidation=Strict" | jq -r 'select(.kind == "Status") | .message'
}

# One corpus for both: operator/api/corpus_test.cpp is the other reader.
broken=0
for file in "$project"/crds/corpus/{good,queues/good}/*.yaml; do
  answer=$(offer "$file")
  if [[ $file == */local-* ]]; then
    [[ $answer == *'spec.local is for local runs'* ]] || { say "$(basename "$file") must be refused for spec.local: $answer"; broken=1; }
  elif [[ -n $answer ]]; then
    say "$(basename "$file") is good, but: $answer"
    broken=1
  fi
done
for file in "$project"/crds/corpus/{bad,queues/bad}/*.yaml; do
  answer=$(offer "$file")
  field=$(sed -n '1s/^# refused: //p' "$file")
  # The server names the last part of a path at least; of a version it speaks in other words.
  word=${field##*.} word=${word%%[*} word=${word/apiVersion/version}
  if [[ -z $answer ]]; then
    say "$(basename "$file") is taken; $field is wrong"
    broken=1
  elif [[ $answer != *"$word"* ]]; then
    say "$(basename "$file"): the answer does not name $field: $answer"
    broken=1
  fi
done
expect "the corpus of $(find "$project"/crds/corpus -name '*.yaml' | wc -l) manifests has the same verdicts here" test $broken = 0

# The sample policy: caps of a namespace that has them. (It is for the whole cluster; no other namespace has caps.)
# Twice: what a policy knows from a ConfigMap stays for ever as it was when the policy was first taken back (kubernetes
# issue 130887); the caps are annotations of the namespace, and must hold as well the second time.
caps=$project/helm/samples/namespace-caps.yaml
case_repair() { kubectl delete --ignore-not-found -f "$caps" >/dev/null 2>&1; }
good=$project/crds/corpus/good/minimal.yaml
says() { [[ $(offer "$good") == *"$1"* ]]; }
taken() { [[ -z $(offer "$good") ]]; }
for time in first second; do
  kubectl apply -f "$caps" >/dev/null
  kubectl annotate namespace "$namespace" elasticmpi.io/max-replicas=3 elasticmpi.io/slots-per-worker=2 >/dev/null
  within 30 "the $time policy refuses a job that asks for more than its namespace may have" says 'at most 3 in this namespace'
  kubectl annotate namespace "$namespace" --overwrite elasticmpi.io/max-replicas=many >/dev/null
  within 30 'caps that are no numbers are named' says 'must be numbers'
  kubectl annotate namespace "$namespace" elasticmpi.io/max-replicas- >/dev/null
  within 30 'without that cap it is taken' taken
  kubectl annotate namespace "$namespace" elasticmpi.io/max-replicas=3 >/dev/null
  within 30 'with it, it is not' says 'at most 3 in this namespace'
  kubectl delete -f "$caps" >/dev/null
  within 30 'without the policy it is taken' taken
done
kubectl annotate namespace "$namespace" elasticmpi.io/max-replicas- elasticmpi.io/slots-per-worker- >/dev/null

# What updates may do.
job live 0
runs live 2
expect 'slots are immutable' refuses 'slotsPerWorker is immutable' live '{"spec":{"slotsPerWorker":2}}'
expect 'the runtime is' refuses 'runtime is immutable' live '{"spec":{"runtime":{"mode":"Rigid"}}}'
expect 'managedBy is' refuses 'managedBy is immutable' live '{"spec":{"managedBy":"x/y"}}'
expect 'the template is, while it runs' refuses 'set spec.suspend to true first' live \
  '{"spec":{"worker":{"template":{"metadata":{"labels":{"new":"label"}}}}}}'
expect 'a size beyond the limits is refused' refuses 'replicas must lie within' live '{"spec":{"worker":{"replicas":9}}}'
scale_refused() { ! k scale emj live --replicas="$1" >/dev/null 2>&1; }
expect 'through /scale, too' scale_refused 9
expect 'zero is suspend'"'"'s job' scale_refused 0
expect 'the job did not notice' running live 2
takes() { k patch emj "$1" --type=merge -p "$2" >/dev/null; } # NAME PATCH
expect 'narrower limits are taken with the size as it is' takes live '{"spec":{"worker":{"maxReplicas":1}}}'
runs live 1
expect 'it says so' condition live SizeAdjusted 'asked for 2 workers, running with 1'
# One that our operator leaves alone, so that nobody sees the suspension.
job unseen 0 '.spec.managedBy = "example.com/other"'
k patch emj unseen --subresource=status --type=merge -p '{"status":{"state":"Running"}}' >/dev/null
k patch emj unseen --type=merge -p '{"spec":{"suspend":true}}' >/dev/null
expect 'the template waits until the job is suspended' refuses 'wait until status.state is Suspended' unseen \
  '{"spec":{"worker":{"template":{"metadata":{"labels":{"new":"label"}}}}}}'
k patch emj unseen --subresource=status --type=merge -p '{"status":{"state":"Suspended"}}' >/dev/null
expect 'then it may change' takes unseen '{"spec":{"worker":{"template":{"metadata":{"labels":{"new":"label"}}}}}}'
# Lists of the template are merged by their keys, as those of a Pod.
adds_a_variable() {
  jq -n '{apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob", metadata: {name: "unseen"}, spec: {worker: {template: {spec:
    {containers: [{name: "worker", env: [{name: "OTHER", value: "1"}]}]}}}}}' | k apply --server-side --field-manager=other -f - >/dev/null
}
expect 'somebody else may apply one variable of it' adds_a_variable
expect 'which takes nothing away' job_is unseen '.spec.worker.template.spec.containers[0] | .command != null and any(.env[]; .name == "OTHER")'
k annotate emj live elasticmpi.io/cancel=true >/dev/null
ends live Failed 20
expect 'it was cancelled' condition live Failed 'Cancelled'
expect 'the size of an ended job cannot change' scale_refused 3
