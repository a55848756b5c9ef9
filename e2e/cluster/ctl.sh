#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What one can do to a running cluster, from inside its control plane's namespaces (./dev e2e ... gets there).
# Usage: ctl.sh CLUSTER cut|mend|power-off|power-on NODE     the node's link; its power
#        ctl.sh CLUSTER stop|start DAEMON                     etcd apiserver controller-manager scheduler dns
#        ctl.sh CLUSTER load FILE                             imports a docker-archive into every node
set -euo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
use_cluster "$1"
# shellcheck source=e2e/cluster/control_plane.sh
source "$cluster_source/control_plane.sh"
# shellcheck source=e2e/cluster/nodes.sh
source "$cluster_source/nodes.sh"
verb=$2 what=${3:-}

daemon_name() {
  declare -F "start_$1" >/dev/null || fail "there is no daemon '$1' in the control plane: etcd apiserver controller-manager scheduler dns"
}

case $verb in
  cut | mend | power-off | power-on) number=$(node_number "$what") ;;
esac
case $verb in
  cut) cut_link "$number" ;;
  mend) mend_link "$number" ;;
  power-off) power_off "$number" ;;
  power-on)
    [[ ! -e $state/pid/$what.init ]] || fail "$what is running"
    power_on "$number"
    ;;
  stop)
    daemon_name "$what"
    stop_daemon "$what"
    ;;
  start)
    daemon_name "$what"
    [[ ! -e $state/pid/$what ]] || fail "$what is running"
    "start_$what"
    ;;
  load) load_image "$what" ;;
  *) fail "unknown verb '$verb'" ;;
esac
