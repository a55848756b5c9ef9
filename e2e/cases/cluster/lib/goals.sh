# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What [deadline] and [budget] share: jobs whose iterations take the less time the more workers they have. Each rank is
# as slow as if 16 of them shared a core, so that a few are as fast as they should be. Sourced by them after operator.sh.

# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/queues.sh"

# slow_job NAME ITERATIONS POLICY [JQ]: about .8 s an iteration on one worker, 1 to 4 of them.
slow_job() { slow_manifest "$@" | k apply -f - >/dev/null; }
slow_manifest() {
  manifest "$1" "$2" '
    .spec.worker |= (.replicas = 4 | .maxReplicas = 4)
    | .spec.worker.template.spec.containers[0] |= (.args = ["--n", "256", "--iterations", .args[3], "--tolerance", "0", "--work-factor", "800"]
      | .env = [{name: "EMPI_SLOWDOWN", value: "16"}])
    | .spec.autoscaling = {mode: "Auto", policy: {name: "'"$3"'"}, windowSeconds: 1, windows: 3, scaleUpStabilizationSeconds: 1,
        scaleDownStabilizationSeconds: 2, cooldownSeconds: 4, maxErrorPercent: 30}
    | '"${4:-.}"
}

priced_queue() { queue '.spec.pools[0] += {quota: {cpu: "1"}, pricePerCPUHour: "2"}'; }
# With its workers, or on its way to what it is said to be better off with.
goes_on() { job_is "$1" '.status.state | IN("Running", "Resizing")'; }
