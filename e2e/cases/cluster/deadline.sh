#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a deadline is met with no more workers than it takes; one that cannot be met is said, with the finish, and nobody is ended for it
# images: operator runtime jacobi
# full: its runs take most of a minute; apps/bench/goals.py measures what it tries
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/goals.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/goals.sh"
begin_case
priced_queue

# By the clock of the API server, which says when a job came and ended.
met() { # NAME SECONDS
  job_is "$1" "((.status.completionTime | sub(\"\\\\.[0-9]+\"; \"\") | fromdate) - (.metadata.creationTimestamp | fromdate)) <= $2"
}
not_late() { job_is "$1" 'all(.status.conditions[]; .type != "DeadlineAtRisk" or .status == "False")'; }

slow_job over 5 deadline '.spec.scheduling.deadline = "2020-01-01T00:00:00Z"'
within 20 'a deadline that was over before the job came is said at once' condition over DeadlineAtRisk 'Passed: the deadline of 2020-01-01T00:00:00Z is over'
slow_job loose 60 deadline '.spec.scheduling.deadlineSeconds = 600'
slow_job queued 60 deadline "$in_queue | .spec.scheduling += {deadlineSeconds: 600, expectedSeconds: 15}"
slow_job never 300 deadline '.spec.scheduling.deadlineSeconds = 20'
within 40 'what cannot be met is said while it runs, with the finish' condition never DeadlineAtRisk 'the deadline.*it will be over at about'
within 10 'and told once' event never DeadlineAtRisk
expect 'it goes on' goes_on never
k delete emj never --wait=false >/dev/null
within 40 'there is a forecast' job_is loose '.status.forecast.finish != null and .status.forecast.source == "Progress"'
within 60 'the loose one has become smaller' job_is loose '.status.joinedReplicas < 4'
ends loose Succeeded 120
expect 'the loose one is in time' met loose 600
within 20 'and is not said to be late' not_late loose
ends queued Succeeded 120
expect 'so is the one in a queue' met queued 600
within 20 'and is not said to be late' not_late queued
