# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What cases share. A case is a script whose third line says what it promises; it runs with kubectl and helm on
# PATH, makes a namespace of its own, and exits 0 (kept), 77 (cannot be tried here) or anything else (broken).

# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../../cluster/lib.sh"

case_name=$(basename "$0" .sh)
namespace=$case_name

# Runs at the end of a case, however it ends: shows what there was when it failed, removes the namespace. A case may
# define case_check (what must hold at its end, too), case_show and case_repair (of what it broke).
case_end() {
  local status=$?
  trap - EXIT
  if [[ $status == 0 ]] && declare -F case_check >/dev/null; then (case_check) || status=1; fi
  if [[ $status != 0 && $status != 77 ]]; then
    say "--- $case_name failed (status $status); the namespace at that moment:"
    kubectl -n "$namespace" get all,events --ignore-not-found 2>&1 | tail -n 60 >&2
    if declare -F case_show >/dev/null; then case_show; fi
  fi
  if declare -F case_repair >/dev/null; then case_repair; fi
  if declare -F close_case >/dev/null; then close_case; fi
  kubectl delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null 2>&1
  exit "$status"
}

# The case's namespace; Pod Security `restricted`, as careful users have it.
make_namespace() {
  trap case_end EXIT
  trap 'exit 130' INT TERM
  if kubectl get namespace "$namespace" >/dev/null 2>&1; then
    kubectl delete namespace "$namespace" --timeout=120s >/dev/null
  fi
  kubectl create namespace "$namespace" >/dev/null
  kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted >/dev/null
  wait_until 60 "the service account of $namespace exists" kubectl -n "$namespace" get serviceaccount default
}

# In the case's namespace.
k() { kubectl -n "$namespace" "$@"; }

# The name of an image of ./dev images. With an existing cluster: EMPI_IMAGE_PREFIX and EMPI_IMAGE_TAG say where it
# was pushed.
image() {
  local tag
  tag=$(sed -n 's/^project(ElasticMPI VERSION \([0-9.]*\).*/\1/p' "$cluster_source/../../CMakeLists.txt")
  echo "${EMPI_IMAGE_PREFIX:-localhost/elastic-mpi-}$1:${EMPI_IMAGE_TAG:-$tag}"
}

# expect WHAT COMMAND...: fails the case, saying WHAT, unless COMMAND succeeds.
expect() {
  local what=$1
  shift
  "$@" || fail "not so: $what"
  say "so it is: $what"
}

# Cutting wires and power needs the project's own cluster.
need_own_cluster() {
  if [[ -z ${EMPI_CLUSTER:-} ]]; then
    say "needs the cluster of ./dev e2e up: an existing one's wires are not ours to cut"
    exit 77
  fi
  use_cluster "$EMPI_CLUSTER"
}
cluster_ctl() { bash "$cluster_source/ctl.sh" "$EMPI_CLUSTER" "$@"; }

node_is() { # NODE True|False|Unknown
  [[ $(kubectl get node "$1" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}') == "$2" ]]
}
