# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What [link-cut] and [power-cut] promise alike. Sourced by them after operator.sh.

# lose_node VERB BACK: a node with a worker of a job on it goes, in the way of `./dev e2e node VERB`, and comes back. Sets
# $node, for case_repair.
lose_node() {
  operator_may_restart=true # one of them may be on that node
  expected_log='no answer|Could not|Connection|connection|lead|lease|Lease|timed out|Timeout|next attempt|stop the program'
  job spread-out 0 ".spec.worker.replicas = 3 | .spec.runPolicy.backoffLimit = 1 | $spread"
  runs spread-out 3
  victim=spread-out-w-2 node=$(node_of spread-out-w-2)
  expect 'the pods are on three nodes' nobody_else_there
  lost=$(processes_of_pod "$victim" '^empi-jacobi')
  expect 'its ranks are found' test -n "$lost"
  has_copies spread-out
  cluster_ctl "$1" "$node"
  local start=$EPOCHREALTIME
  # Kubernetes does not know yet that the node is gone.
  goes_on_without() { running spread-out 3 && job_is spread-out '.status.nextIndex >= 4 and .status.epoch >= 3'; }
  within 150 'the others go on without it, and another one takes its place' goes_on_without
  expect 'nobody was placed on the lost node' only_the_victim_there
  expect 'nothing began anew' job_is spread-out '(.status.restarts // 0) == 0'
  iterates spread-out
  expect 'on the other nodes' elsewhere
  within 60 'the lost ranks are dead, though nobody could tell them' lost_are_dead
  say "all over $(elapsed "$start") s after the fault"
  cluster_ctl "$2" "$node"
  within 90 'the node is ready again' node_is "$node" True
  within 90 'the lost pod goes' pod_gone "$victim"
  iterates spread-out
  runs spread-out 3
}
only_the_victim_there() { # ever
  k get events --field-selector reason=Scheduled -o json |
    jq -e --arg node "$node" '[.items[] | select(.message | endswith(" to " + $node)) | .involvedObject.name] == ["'"$victim"'"]' >/dev/null
}
lost_are_dead() {
  local pid
  for pid in $lost; do not_running "$pid" || return 1; done
}
nobody_else_there() { ! pods_are spread-out "map(select(.metadata.name != \"$victim\" and .spec.nodeName == \"$node\")) | length > 0"; }
elsewhere() { pods_are spread-out "map(select(.metadata.deletionTimestamp == null)) | all(.[]; .spec.nodeName != \"$node\")"; }
