#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a tsunami under Auto grows with its wave and shrinks by itself, and ends in bitwise the state of a fixed size
# images: operator runtime tsunami
# alone: it measures
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

# As in apps/tsunami/chile2010-quick.yaml, over an analytic ocean. The result is in a file of the first rank's pod,
# which is out of reach once the pod has ended: so the log shows it.
tsunami() { # NAME CELL_TIME JQ
  # shellcheck disable=SC2016  # the pod's own variables
  jq -n --arg name "$1" --arg cell_time "$2" --arg image "$(image tsunami)" '
    {apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob", metadata: {name: $name},
     spec: {
       worker: {minReplicas: 1, maxReplicas: 4, template: {spec: {containers: [{
         name: "worker", image: $image,
         command: ["sh", "-c", "empi-tsunami --out /tmp \"$@\"; s=$?; grep -s state_hash /tmp/tsunami.json; exit $s", "-"],
         args: ["--finest", "14", "--coast", "8", "--refine", "0.1", "--coarsen", "0.05", "--end", "240000", "--snapshot-every", "0",
                "--cell-time", $cell_time],
         resources: {requests: {cpu: "50m", memory: "64Mi"}}}]}}},
       resize: {stepSize: "Factor2", prepareTimeoutSeconds: 240, joinTimeoutSeconds: 240}}} | '"$3" | k apply -f - >/dev/null
}
state() { worker_logs "$1" | sed -n 's/.*"state_hash": *"\([0-9a-f]*\)".*/\1/p'; }

# What messages cost against what cells cost differs from machine to machine, and from hour to hour, by a factor of four.
# When the wave has passed a quarter of the cells is left, and the share of two workers doubles (with cells of 15 us on two
# cores .05 to .23 before, up to .43 then). With cells of 4 us the quickest messages so far cost .13 before: with 3 us 10 % is
# exceeded, and where it is so at once, the job shrinks earlier. (One worker alone: .001.)
tsunami fixed 0 '.spec.worker.replicas = 2'
tsunami auto 3 '.spec.autoscaling = {
  mode: "Auto", policy: {name: "threshold", threshold: {lowPercent: 2, highPercent: 10, noisePercent: 0}},
  windowSeconds: 1, windows: 3, scaleUpStabilizationSeconds: 1, scaleDownStabilizationSeconds: 2, cooldownSeconds: 3,
  maxErrorPercent: 60}'
runs auto 1
changed() { get_events auto Resized | jq -e "[.items[].message | capture(\"^(?<a>[0-9]+) -> (?<b>[0-9]+)\") | (.b | tonumber) - (.a | tonumber) | select(. $1 0)] | length > 0"; }
changed_or_over() { changed "$1" || job_is auto '.status.completionTime != null'; } >/dev/null
within 90 'it has become larger, or has ended' changed_or_over '>'
expect 'it grows by itself' changed '>'
within 180 'it has become smaller, or has ended' changed_or_over '<'
expect 'it shrinks by itself' changed '<'
within 10 'nobody has to say why: it does' event auto Scaled .
ends auto Succeeded 180
ends fixed Succeeded 60
get_events auto | jq -r '.items | sort_by(.metadata.creationTimestamp) | .[] | select(.reason == "Resized" or .reason == "Scaled") | "  \(.message)"' >&2
same_state() { [[ -n $(state fixed) && $(state fixed) == "$(state auto)" ]]; }
say "  fixed $(state fixed), auto $(state auto)"
expect 'its state is that of the fixed size to the last bit' same_state
