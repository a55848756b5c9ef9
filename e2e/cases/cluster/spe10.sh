#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# an oil reservoir starts on all its workers, is made smaller by policy efficiency, and produces what a fixed size does
# images: operator runtime spe10
# alone: it measures
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-spe10-XXXXXX")
case_repair() { rm -rf "$folder"; }
begin_case

# As in apps/spe10/spe10-quick.yaml, over a synthetic field. The curves are in a file of the first rank's pod, which is
# out of reach once the pod has ended: so the log shows their last line.
reservoir() { # NAME SLOWDOWN JQ
  # shellcheck disable=SC2016  # the pod's own variables
  jq -n --arg name "$1" --arg slowdown "$2" --arg image "$(image spe10)" '
    {apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob", metadata: {name: $name},
     spec: {
       worker: {minReplicas: 1, maxReplicas: 4, template: {spec: {containers: [{
         name: "worker", image: $image,
         command: ["sh", "-c", "empi-spe10 --out /tmp \"$@\"; s=$?; sed -n \"1s/^/columns /p;\\$s/^/produced /p\" /tmp/production.csv 2>/dev/null; exit $s", "-"],
         args: ["--layers", "2", "--coarsest", "0", "--finest", "2", "--days", "40", "--longest-step", "0.25", "--tolerance", "1e-11", "--snapshot-every", "0"],
         env: [{name: "EMPI_SLOWDOWN", value: $slowdown}],
         resources: {requests: {cpu: "50m", memory: "96Mi"}}}]}}},
       resize: {stepSize: "Factor2", prepareTimeoutSeconds: 240, joinTimeoutSeconds: 240}}} | '"$3" | k apply -f - >/dev/null
}
# The last line of the production curves, without what may differ: "day 40 water 1.2e3 ...", one name and value a line.
produced() {
  worker_logs "$1" |
    awk -F, '/columns / { sub(/.*columns /, ""); split($0, name) }
             /produced / { sub(/.*produced /, ""); for (i = 1; i <= NF; ++i) if (name[i] !~ /^(ranks|iterations)$/) print name[i], $i }'
}

reservoir fixed 1 '.spec.worker.replicas = 2'
reservoir auto 6 '.spec.worker.replicas = 4 | .spec.autoscaling = {
  mode: "Auto", policy: {name: "efficiency"},
  windowSeconds: 1, windows: 3, scaleUpStabilizationSeconds: 1, scaleDownStabilizationSeconds: 1, cooldownSeconds: 2,
  minIterations: 3, maxErrorPercent: 40}'
runs auto 4 90
smaller() { job_is auto '.status.joinedReplicas < 4 and .status.resize.id == null'; }
within 120 'it is made smaller, as measured' smaller
within 10 'an event says why' event auto Scaled .
say "  $(value auto '[.status.decisions[]? | select(.to < .from)][-1].reason // empty')"
ends fixed Succeeded 120
ends auto Succeeded 240
produced fixed >"$folder/fixed" && produced auto >"$folder/auto"
# Values are printed with seven digits; those near zero (water of a dry well) are too small to compare.
same() {
  [[ -s $folder/fixed ]] && paste -d' ' "$folder/fixed" "$folder/auto" |
    awk '$1 != $3 { bad = 1 } { d = $2 - $4; if (d < 0) d = -d; m = $2 < 0 ? -$2 : $2 } m > .01 && d > 1e-5 * m { print "  " $0; bad = 1 } END { exit bad }' >&2
}
expect 'it produced what the fixed size did, to the tolerance of the solver' same
