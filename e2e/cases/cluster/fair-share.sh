#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# of two namespaces that share a queue, the one that has used less starts first although it came later, and as it came without fairShare
# images: operator runtime jacobi
# full: another order of starts than that of [queue]; the tests of operator/decide/queue try many
# shellcheck disable=SC2030,SC2031  # another namespace holds within a subshell only, and is meant to
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
other=$namespace-b
case_repair() {
  queue_goes
  # Jobs first, as close_case does: a namespace that goes ends their pods before them, which then wait for a planned leave.
  kubectl -n "$other" delete elasticmpijobs --all --wait=false >/dev/null 2>&1 || true
  kubectl delete namespace "$other" --ignore-not-found --wait=false >/dev/null
}
fresh_namespace "$other"
beside() { (namespace=$other && "$@"); } # a command, in the other namespace

# Of two workers, which every job here needs.
shared() { queue ".spec.namespaces = [\"$namespace\", \"$other\"] | .spec.pools[0].quota.cpu = \"120m\" | .spec.order.fairShare.mode = \"$1\""; }
pair="$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = 2"
stand() { queue_is ".status.head | map(\"\\(.namespace)/\\(.name)\") == [$1]"; } # those that wait, as a list of JSON
goes() { (namespace=$1 && k delete emj "$2" --wait=false >/dev/null); }

shared Namespace
job hog 0 "$pair"
runs hog 2
within 40 'the queue says how much the namespace has used' queue_is ".status.usage | map(.namespace) == [\"$namespace\"]"
job again 0 "$pair"
within 20 'it waits' waits again 'needs 2 workers'
beside job newcomer 0 "$pair"
within 20 'who has used nothing comes first, although it came later' stand "\"$other/newcomer\", \"$namespace/again\""
goes "$namespace" hog
within 60 'it starts first' beside running newcomer 2
expect 'the other one waits' job_is again '.status.state == "Queued"'

shared Off
beside job third 0 "$pair"
within 20 'without fairShare they stand as they came' stand "\"$namespace/again\", \"$other/third\""
goes "$other" newcomer
runs again 2
expect 'who came last waits' beside job_is third '.status.state == "Queued"'
within 40 'the queue says what both have used' queue_is ".status.usage | map(.namespace) | sort == [\"$namespace\", \"$other\"]"
goes "$namespace" again
within 60 'and then it is served' beside running third 2
