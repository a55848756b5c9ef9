# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of the cluster share: where things are, how to say something, to fail and to wait.

cluster_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=e2e/cluster/addresses.sh
source "$cluster_source/addresses.sh"

# The folder of a program that Debian does not have. It is named by what the program is built from, its module's files:
# what one changes leaves the others as they are.
program_folder() { # kube|kube-MINOR|coredns|helm|kwok|metrics-adapter|calico
  echo "/cache/kubernetes/$1-$(cat "$cluster_source/go/$1"/* | sha256sum | cut -c1-12)"
}
# All of them, for PATH.
program_folders() {
  local name folders=()
  for name in "$(kubernetes_module)" coredns helm kwok metrics-adapter calico; do folders+=("$(program_folder "$name")"); done
  (IFS=: && echo "${folders[*]}")
}

say() { printf 'e2e: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Which Kubernetes: the running cluster's (use_cluster), else the one that is asked for in EMPI_KUBERNETES, else the one
# that go/kube/go.mod names. Each other one is the module go/kube-MINOR.
kubernetes_in() { sed -n 's/^\tk8s.io\/kubernetes v//p' "$1/go.mod"; } # FOLDER
kubernetes_default() {
  local version
  version=$(kubernetes_in "$cluster_source/go/kube")
  echo "${version%.*}"
}
kubernetes_versions() { # those that there are, 1.NUMBER each
  {
    kubernetes_default
    (cd "$cluster_source/go" && printf '%s\n' kube-*/go.mod) | sed -n 's/^kube-\([0-9.]*\)\/go.mod$/\1/p'
  } | sort -V
}
kubernetes_minor() { echo "${EMPI_KUBERNETES:-$(kubernetes_default)}"; }
kubernetes_module() { # the folder in go/ that its programs are built from
  if [[ $(kubernetes_minor) == "$(kubernetes_default)" ]]; then echo kube; else echo "kube-$EMPI_KUBERNETES"; fi
}
kubernetes_version() { kubernetes_in "$cluster_source/go/$(kubernetes_module)"; } # in full

# wait_until SECONDS WHAT COMMAND...: returns when COMMAND succeeds; fails with WHAT after EMPI_PATIENCE (4) times SECONDS.
# The seconds bound a hang, they are never what is waited for: those of a quiet machine, and few machines are quiet.
wait_until() {
  local deadline=$((SECONDS + $1 * ${EMPI_PATIENCE:-4})) what=$2 start=${EPOCHREALTIME/[.,]/} pause
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [[ $SECONDS -ge $deadline ]]; then
      say "gave up waiting until $what"
      return 1
    fi
    # Who looks ten times a second keeps half a processor from what is waited for: a tenth of the time so far.
    pause=$(((${EPOCHREALTIME/[.,]/} - start) / 10))
    printf -v pause '0.%06d' $((pause < 100000 ? 100000 : pause > 500000 ? 500000 : pause))
    read -rt "$pause" -u "$silence" || true # sleep is a process for each look
  done
}
exec {silence}<> <(:) # nobody ever writes to it

# Everything of one cluster, by its name; set by `use_cluster NAME`.
use_cluster() {
  cluster=$1
  state=/cache/cluster/$cluster
  if [[ -e $state/kubernetes ]]; then EMPI_KUBERNETES=$(cat "$state/kubernetes"); fi
  use_addresses "$(cat "$state/ip-family" 2>/dev/null || echo 4)"
  # shellcheck disable=SC2034  # the other scripts use it
  cni=$(cat "$state/cni" 2>/dev/null || echo ptp) # who wires pods: ptp, which knows no NetworkPolicy, or calico
  PATH=$(program_folders):$PATH
  export PATH KUBECONFIG=$state/admin.kubeconfig
}

# Some kernels have the older packet filter only: then its commands come first on PATH, as links in FOLDER.
choose_iptables() { # FOLDER
  local name
  if iptables -t nat -N EMPI-PROBE 2>/dev/null; then
    iptables -t nat -X EMPI-PROBE
    return
  fi
  mkdir -p "$1"
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -sf /usr/sbin/xtables-legacy-multi "$1/$name"
  done
  export PATH=$1:$PATH
}

# daemon NAME COMMAND...: starts COMMAND in a session of its own, with a log and a pid file under $state.
daemon() {
  local name=$1
  shift
  setsid "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
  echo $! >"$state/pid/$name"
}

# Asks a daemon to end, and ends it when it takes its time: the API server waits a minute for its watches.
stop_daemon() { # NAME
  local pid
  pid=$(cat "$state/pid/$1" 2>/dev/null) || fail "$1 is not running"
  kill "$pid" 2>/dev/null || true
  if ! wait_until 5 "$1 (process $pid) has ended by itself" not_running "$pid" 2>/dev/null; then
    kill -9 "$pid" 2>/dev/null || true
    wait_until 30 "$1 (process $pid) has ended" not_running "$pid"
  fi
  rm -f "$state/pid/$1"
}

not_running() { [[ ! -e /proc/$1 ]] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }
