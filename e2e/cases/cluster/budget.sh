#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a budget is kept, as fast as it pays for; one that no size keeps is said, with the price, and nobody is ended for it
# images: operator runtime jacobi
# full: its runs take most of a minute; apps/bench/goals.py measures what it tries
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/goals.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/goals.sh"
begin_case
priced_queue
kept() { job_is "$1" ".status.cost.spent <= $2 and all(.status.conditions[]; .type != \"BudgetAtRisk\" or .status == \"False\")"; } # NAME BUDGET

# A worker asks for 50 m, and a CPU hour is 1 without a queue. In the queue it is 2, its sidecar's 10 m included.
slow_job rich 60 budget '.spec.scheduling.budget = "0.1"'
slow_job queued 60 budget "$in_queue | .spec.scheduling += {budget: \"0.2\", expectedSeconds: 15}"
slow_job poor 300 budget '.spec.scheduling.budget = "0.0002"'
within 40 'what is not enough is said while it runs, with the price' condition poor BudgetAtRisk 'none keeps to the budget.*it will have cost about|it has cost .* so far, and goes on'
within 10 'and told once' event poor BudgetAtRisk
expect 'it goes on' goes_on poor
within 40 'each tells what it has cost' job_is rich '.status.cost.spent > 0 and .status.cost.perHour > 0'
k delete emj poor --wait=false >/dev/null
ends rich Succeeded 120
within 20 'the budget is kept' kept rich 0.1
ends queued Succeeded 120
within 20 'so is the one in a queue' kept queued 0.2
