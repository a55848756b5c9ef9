# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What cases share. A case is a script whose third line says what it promises; it runs with kubectl and helm on
# PATH, makes a namespace of its own, and exits 0 (kept), 77 (cannot be tried here) or anything else (broken).

# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../../cluster/lib.sh"

case_name=$(basename "$0" .sh)
namespace=$case_name
export GOGC=400 # of kubectl and helm, which end before it matters what they have left lying about

# --- the API server ----------------------------------------------------------------------------------------
# kubectl costs a tenth of a second of processor time a call and more; what is asked again and again goes through one
# `kubectl proxy` instead, which knows the way and the credentials of any cluster.

open_api() {
  api_socket=$(mktemp -u "${TMPDIR:-/tmp}/e2e-api-XXXXXX")
  kubectl proxy --unix-socket="$api_socket" >/dev/null 2>&1 &
  api_process=$!
  wait_until 20 'kubectl proxy answers' api /version
}
close_api() {
  [[ -z ${api_process:-} ]] || kill "$api_process" 2>/dev/null || true
  rm -f "${api_socket:-}"
}
# api PATH [CURL OPTIONS]: fails when the answer is no success.
api() { curl --silent --show-error --fail --max-time 10 --unix-socket "${api_socket:-}" "${@:2}" "http://localhost$1"; }
# missing PATH: the API server knows no such thing (and has not failed to answer).
missing() { [[ $(curl --silent --max-time 10 --unix-socket "$api_socket" -o /dev/null -w '%{http_code}' "http://localhost$1") == 404 ]]; }

# path_of KIND/NAME: of an object in the case's namespace.
path_of() {
  case ${1%%/*} in
    emj) echo "/apis/elasticmpi.io/v1alpha1/namespaces/$namespace/elasticmpijobs/${1#*/}" ;;
    networkpolicy) echo "/apis/networking.k8s.io/v1/namespaces/$namespace/networkpolicies/${1#*/}" ;;
    pod | secret | service) echo "/api/v1/namespaces/$namespace/${1%%/*}s/${1#*/}" ;;
    *) fail "a case asks for $1, and nobody has said where such things are: path_of in ${BASH_SOURCE[0]}" ;;
  esac
}
get_object() { # KIND/NAME
  local path
  path=$(path_of "$1") && api "$path"
}
uid_of() { get_object "$1" | jq -r .metadata.uid; }
gone() { # KIND/NAME
  local path
  path=$(path_of "$1") && missing "$path"
}
pod_log() { api "$(path_of "pod/$1")/log${2:+?container=$2}" --max-time 60; } # POD [CONTAINER]

# --- the namespace -----------------------------------------------------------------------------------------

# Runs at the end of a case, however it ends: shows what there was when it failed, removes the namespace. A case may
# define case_check (what must hold at its end, too), case_show and case_repair (of what it broke).
case_end() {
  local status=$?
  trap - EXIT
  # Whoever ended the case has ended the proxy, too (run.sh ends the group).
  api /version >/dev/null 2>&1 || { close_api && open_api; } || true
  if [[ $status == 0 ]] && declare -F case_check >/dev/null; then (case_check) || status=1; fi
  if [[ $status != 0 && $status != 77 ]]; then
    say "--- $case_name failed (status $status); the namespace at that moment:"
    kubectl -n "$namespace" get all,events --ignore-not-found 2>&1 | tail -n 60 >&2
    if declare -F case_show >/dev/null; then case_show; fi
  fi
  if declare -F case_repair >/dev/null; then case_repair; fi
  if declare -F close_case >/dev/null; then close_case; fi
  api "/api/v1/namespaces/$namespace" -X DELETE >/dev/null 2>&1 ||
    kubectl delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null 2>&1 || true
  close_api
  exit "$status"
}

# The case's namespace, and a cheap way to the API server.
make_namespace() {
  trap case_end EXIT
  trap 'exit 130' INT TERM
  open_api
  fresh_namespace "$namespace"
}
# fresh_namespace NAME: with Pod Security `restricted`, as careful users have it.
fresh_namespace() {
  missing "/api/v1/namespaces/$1" || kubectl delete namespace "$1" --ignore-not-found --timeout=120s >/dev/null
  kubectl create -f - >/dev/null <<<"{\"apiVersion\": \"v1\", \"kind\": \"Namespace\",
    \"metadata\": {\"name\": \"$1\", \"labels\": {\"pod-security.kubernetes.io/enforce\": \"restricted\"}}}"
  wait_until 60 "the service account of $1 exists" api "/api/v1/namespaces/$1/serviceaccounts/default"
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
  api "/api/v1/nodes/$1" | jq -e --arg status "$2" 'any(.status.conditions[]; .type == "Ready" and .status == $status)' >/dev/null
}
