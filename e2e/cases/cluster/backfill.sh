#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a short job passes the first that waits, a long one that would delay it does not; the first starts no later than it was told at first
# images: operator runtime jacobi
# full: another order of starts than that of [queue]; the tests of operator/decide/queue try many
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case

queue '.spec.pools[0].quota.cpu = "240m"' # of four workers
# sized NAME ITERATIONS WORKERS SECONDS: never another size, and claims to last so long.
sized() { job "$1" "$2" "$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = $3 | .spec.scheduling.expectedSeconds = $4"; }

sized wall 4500 3 120
runs wall 3
sized head 20 4 60
within 20 'one that needs all waits, and is told when it may start' job_is head '.status.state == "Queued" and .status.queue.expectedStart != null'
seconds() { date -d "$1" +%s; }
told=$(seconds "$(value head '.status.queue.expectedStart')")
say "about $(value head '.status.queue.expectedStart')"
sized long 0 1 3600 # as long as it runs, the first cannot
within 20 'a long one waits, although there is room for it' waits long 'needs 1 worker'
sized short 100 1 10
ends short Succeeded 40
expect 'a short one has passed, and the job that fills the queue still runs' running wall 3
expect 'the long one has not, and neither has the first' test "$(value long .status.state)$(value head .status.state)" = QueuedQueued
within 20 'they stand in the order in which they came' queue_is '.status.head | map(.name) == ["head", "long"]'
ends wall Succeeded 150
ends head Succeeded 60
runs long 1
# What it was told holds as far as others end when they claim; then its pods have to come.
late=$((5 * ${EMPI_PATIENCE:-4})) # s
over=$(seconds "$(value wall .status.completionTime)")
started=$(seconds "$(value head .status.startTime)")
say "told $((told - over)) s, started $((started - over)) s after the job that filled the queue"
expect "the first has started no later than it was told at first, but for $late s" test "$started" -le $(((told > over ? told : over) + late))
expect 'nor later than that after there was room' test "$started" -le $((over + late))
# shellcheck disable=SC2016
expect 'and before the long one' test ! "$(value head .status.startTime)" '>' "$(value long .status.startTime)"
