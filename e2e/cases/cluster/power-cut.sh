#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a node that loses its power costs the job its worker: it starts again elsewhere
# images: operator runtime jacobi
# alone: it cuts the power of a node
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
  if [[ -n $node && ! -e $state/pid/$node.init ]]; then cluster_ctl power-on "$node"; wait_until 90 "$node is ready" node_is "$node" True; fi
} >/dev/null 2>&1
lose_node power-off power-on
