#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl scale grows and shrinks a running job, and the answer stays that of a fixed size to the last bit
# images: operator runtime jacobi
# alone: its job runs as long as its changes take
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

job fixed 1000 '.spec.scheduling.constraints.topology = [{key: "kubernetes.io/hostname"}]'
job scaled 1000
runs fixed 2
expect 'workers that are to be together are on one node' pods_are fixed 'length == 2 and (map(.spec.nodeName) | unique | length) == 1'
runs scaled 2
for size in 4 1 3; do
  k scale emj scaled --replicas=$size >/dev/null
  runs scaled $size
  iterates scaled
  say "  $(value scaled '.status.lastResize | "\(.from) -> \(.to) \(.result): prepared \(.preparedMillis) ms, joined \(.joinedMillis) ms, paused \(.pausedMillis) ms"')"
done
never_twice() { [[ $(value scaled .status.nextIndex) == 6 ]]; }
expect 'every worker had an index of its own' never_twice
within 10 'the event of a change says how long the program was paused' event scaled Resized 'paused [1-9][0-9]* ms'
ends scaled Succeeded 120
ends fixed Succeeded 120
same_answer() { [[ -n $(fingerprint fixed) && $(fingerprint fixed) == "$(fingerprint scaled)" ]]; }
expect 'both have the same answer' same_answer
say "  $(fingerprint scaled)"
