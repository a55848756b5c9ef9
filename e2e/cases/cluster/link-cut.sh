#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a node whose wire is cut costs the job its worker: it starts again elsewhere, and the lost ranks are dead
# images: operator runtime jacobi
# alone: it cuts the wire of a node
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/lost_node.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/lost_node.sh"
need_own_cluster
begin_case
node=
case_repair() {
  if [[ -n $node ]]; then cluster_ctl mend "$node"; wait_until 90 "$node is ready" node_is "$node" True; fi
} >/dev/null 2>&1
lose_node cut mend
