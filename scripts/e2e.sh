# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev e2e: a real Kubernetes on this machine, and the cases that run on it. Sourced by root.sh, on the host.
#
# The cluster is one tree of processes in namespaces of its own: nothing of it shows on the host but that tree,
# its control groups (empi-NAME) and its folder in the cache. What it is made of: e2e/cluster.

# shellcheck source=e2e/cluster/cgroups.sh
source "$project/e2e/cluster/cgroups.sh"
# shellcheck source=scripts/e2e_cases.sh
source "$project/scripts/e2e_cases.sh"
# shellcheck source=scripts/e2e_from.sh
source "$project/scripts/e2e_from.sh"

# One cluster per checkout, unless it is named.
cluster=${EMPI_CLUSTER:-$(printf '%s' "$project" | sha256sum | cut -c1-8)}
state=$cache/cluster/$cluster         # on the host
inside_state=/cache/cluster/$cluster  # in the root

skip_status=77
skip() {
  printf 'e2e: skipped: %s\n' "$*" >&2
  exit "$skip_status"
}

e2e_usage() {
  local versions
  versions=$(known_kubernetes)
  cat <<USAGE
Usage: ./dev e2e [CASE...] [--kubeconfig FILE]    runs the cases (all of them by default), each on one line:
                                                  case NAME ok|FAILED|skipped SECONDS
       ./dev e2e full [CASE...]                   the same, and where a case tries some of many things it tries all
       ./dev e2e list                             the cases and what they promise
       ./dev e2e up [--nodes N]                   starts a Kubernetes of N nodes (3) and keeps it
       ./dev e2e status | down                    how it is; ends it and removes everything of it
       ./dev e2e kubectl ARGS | helm ARGS         on it
       ./dev e2e manifest [HELM TEMPLATE ARGS]    prints the chart as one file for kubectl apply (no cluster needed)
       ./dev e2e programs [NAME...]               builds kube, coredns, helm (all by default) or kwok into the cache
       ./dev e2e load NAME|FILE.tar ...           imports images into its nodes: made by ./dev images, or archives
       ./dev e2e node cut|mend|power-off|power-on NODE     pulls and plugs a node's wire; its power
       ./dev e2e control stop|start DAEMON        etcd, apiserver, controller-manager, scheduler or dns
       ./dev e2e logs [NAME]                      the last lines of a daemon's log; without NAME: their names
       ./dev e2e shell                            a shell in the control plane

Options, of cases, up and programs:
       --kubernetes VERSION   of the cluster that is started: $versions
       --ip 6                 the cluster has addresses of IPv6 and no others (4)
       --cni calico           pods are wired by Calico, which holds packets to NetworkPolicies (ptp: nobody does)
       --from REV             the commit of this repository from which [upgrade-from] upgrades (default: its own choice);
                              without a CASE, runs that one

Cases use the running cluster; where there is none they start one and end it. With --kubeconfig they use an
existing cluster instead, and those that need to cut wires are skipped.
Exit status: 0, 1 when a case failed, 2 when what was asked or this machine is not as it must be, 77 (with --or-skip: 0) when this machine cannot run containers.
Environment: EMPI_CLUSTER   the cluster's name (default: one per checkout)
             EMPI_CLUSTERS  how many clusters share the cases (default: 2 when all are run and none is up, else 1)
             EMPI_KUBERNETES, EMPI_IP_FAMILY, EMPI_CNI     the same as --kubernetes, --ip and --cni
             EMPI_PATIENCE  how many times longer than on a quiet machine a case waits before it gives up (default: 4)
USAGE
}

e2e() {
  [[ $cluster =~ ^[a-z0-9][a-z0-9-]{0,20}$ ]] ||
    die "EMPI_CLUSTER: '$cluster' is no name for a cluster: use up to 21 of a-z, 0-9 and -"
  local words=()
  take_options "$@"
  choose_cluster_root
  set -- "${words[@]}"
  local verb=${1:-}
  case $verb in
    help | -h | --help) e2e_usage ;;
    up) up "${@:2}" ;;
    down) with_lock down ;;
    status) status ;;
    kubectl | helm) on_cluster "$@" ;;
    manifest) manifest "${@:2}" ;;
    programs)
      shift
      if [[ ${1:-} == --or-skip ]]; then
        skip_status=0
        check_machine
        shift
      fi
      ensure_root
      in_e2e_root bash "$project/e2e/cluster/build.sh" "$@"
      ;;
    load) load "${@:2}" ;;
    node)
      [[ $# == 3 ]] || die 'e2e: node wants a verb (cut, mend, power-off, power-on) and the name of a node'
      in_cluster bash "$project/e2e/cluster/ctl.sh" "$cluster" "$2" "$3"
      ;;
    control)
      [[ $# == 3 ]] || die 'e2e: control wants a verb (stop, start) and the name of a daemon'
      in_cluster bash "$project/e2e/cluster/ctl.sh" "$cluster" "$2" "$3"
      ;;
    logs) logs "${2:-}" ;;
    shell) in_cluster bash ;;
    *) run_cases "$@" ;;
  esac
}

# Takes the options that cases, up and programs have in common; what is left is in $words. Words for kubectl, helm and the
# chart are theirs.
take_options() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --kubernetes)
        export EMPI_KUBERNETES=${2:-}
        kubernetes_named=yes
        [[ -n $EMPI_KUBERNETES ]] || die "e2e: --kubernetes wants a version: $(known_kubernetes)"
        shift
        ;;
      --ip)
        export EMPI_IP_FAMILY=${2:-}
        [[ $EMPI_IP_FAMILY =~ ^[46]$ ]] || die "e2e: --ip wants 4 or 6, not '$EMPI_IP_FAMILY'"
        shift
        ;;
      --cni)
        export EMPI_CNI=${2:-}
        [[ $EMPI_CNI =~ ^(ptp|calico)$ ]] || die "e2e: --cni wants ptp or calico, not '$EMPI_CNI'"
        shift
        ;;
      --from)
        export EMPI_FROM=${2:-}
        [[ $EMPI_FROM =~ ^[A-Za-z0-9][A-Za-z0-9._/~^-]*$ ]] || die "e2e: --from wants a commit of this repository, not '$EMPI_FROM'"
        shift
        ;;
      kubectl | helm | manifest)
        if [[ ${#words[@]} == 0 ]]; then
          words=("$@")
          break
        fi
        words+=("$1")
        ;;
      *) words+=("$1") ;;
    esac
    shift
  done
  choose_kubernetes "${words[0]:-}"
}

# Where nodes are. What a running cluster has counts, as with the version of Kubernetes.
choose_cluster_root() {
  if find_cluster && [[ -e $state/cni ]]; then
    [[ -z ${EMPI_CNI:-} || $EMPI_CNI == $(cat "$state/cni") ]] ||
      die "e2e: cluster $cluster is up with --cni $(cat "$state/cni"): ./dev e2e down, or EMPI_CLUSTER=NAME for another"
    EMPI_CNI=$(cat "$state/cni")
  fi
  export EMPI_CNI=${EMPI_CNI:-ptp}
  [[ $EMPI_CNI == ptp || ${EMPI_IP_FAMILY:-4} == 4 ]] || die 'e2e: --cni calico is tried with addresses of IPv4 only'
  local with=${EMPI_WITH:-}
  if [[ $EMPI_CNI == calico ]]; then with="${with:+$with }$calico_packages"; fi
  EMPI_WITH=$with choose_root packages-e2e.txt
}

# From here on EMPI_KUBERNETES says it to all: a running cluster's own version, else what is asked for. Programs may be
# built for another one meanwhile.
choose_kubernetes() { # [VERB]
  local asked=${EMPI_KUBERNETES:-} known running=''
  known=$(known_kubernetes)
  [[ -z $asked || " ${known//,/} " == *" $asked "* ]] || die "e2e: there is no Kubernetes '$asked' here: $known"
  if [[ ${1:-} != programs ]] && find_cluster && [[ -e $state/kubernetes ]]; then
    running=$(cat "$state/kubernetes")
    [[ -z $asked || $asked == "$running" ]] ||
      die "e2e: cluster $cluster is up with Kubernetes $running, not $asked: ./dev e2e down, or EMPI_CLUSTER=NAME for another"
    asked=$running
  fi
  export EMPI_KUBERNETES=${asked:-$(of_cluster kubernetes_default)}
}
of_cluster() { (source "$project/e2e/cluster/lib.sh" && "$@"); } # FUNCTION of lib.sh
known_kubernetes() { of_cluster kubernetes_versions | paste -sd, | sed 's/,/, /g'; }

# --- the tree of processes -------------------------------------------------------------------------------

# A process is named by its id and the time of its start, for ids come again.
start_time() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }

# Sets $keeper (the process that holds the namespaces) and $init (process 1 in them) if the cluster lives.
find_cluster() {
  local started
  [[ -e $state/keeper ]] && read -r keeper started <"$state/keeper" || return 1
  [[ -n $started && $(start_time "$keeper") == "$started" ]] || return 1
  init=$(cat "/proc/$keeper/task/$keeper/children" 2>/dev/null) && init=${init%% *} && [[ -n $init ]]
}

is_ready() { find_cluster && [[ $(tail -n1 "$state/progress" 2>/dev/null) == ready ]]; }

need_cluster() { is_ready || die 'e2e: there is no cluster: ./dev e2e up starts one'; }

# Runs a command in the cluster's own namespaces: control plane, its network and processes.
in_cluster() {
  need_cluster
  nsenter --target "$init" --mount --net --uts --ipc --pid -- \
    env -i --chdir="$project" PATH="$(programs):/usr/sbin:/usr/bin" HOME=/cache/home TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
    KUBECONFIG="$inside_state/admin.kubeconfig" "$@"
}

# Runs a user's command: the cluster's network, but the folder of the user.
on_cluster() {
  local word words=()
  need_cluster
  prepare_enter
  for word in "$@"; do
    [[ $word != -- ]] || break # what follows is of a container
    words+=("$word")
  done
  check_paths "${words[@]}"
  nsenter --target "$init" --net --uts --ipc --pid -- unshare --mount -- \
    "${enter[@]}" PATH="$(programs):/usr/sbin:/usr/bin" KUBECONFIG="$inside_state/admin.kubeconfig" \
    KUBECACHEDIR=/cache/home/.kube/cache HELM_CACHE_HOME=/cache/home/.cache/helm -- "$@"
}

# Where the programs that Debian does not have are, inside; lib.sh knows.
programs() { of_cluster program_folders; }

with_lock() {
  mkdir -p "$cache/cluster"
  exec 8>"$cache/cluster/$cluster.lock"
  take_cache_lock 8 'starts or ends this cluster'
  "$@"
  exec 8>&-
}

# --- up and down -----------------------------------------------------------------------------------------

# What can be known without the Debian root comes first.
check_machine() {
  local reason
  [[ $(id -u) == 0 ]] || skip 'a cluster needs root on this machine: run it with sudo'
  unshare --mount --pid --fork --kill-child --net --uts --ipc true 2>/dev/null ||
    skip 'namespaces cannot be made here: a container needs --privileged'
  reason=$(check_cgroups)
  [[ -z $reason ]] || skip "$reason"
}

isolated() { unshare --mount --pid --fork --kill-child --net --uts --ipc --propagation private -- "$@"; }

up() {
  local nodes=3
  while [[ $# -gt 0 ]]; do
    case $1 in
      --nodes)
        nodes=${2:-}
        [[ $nodes =~ ^[0-9]+$ && $nodes -ge 1 && $nodes -le 100 ]] || die "e2e: --nodes wants a number from 1 to 100, not '$nodes'"
        shift 2
        ;;
      *) die "e2e: up has no option '$1'; there is --nodes N" ;;
    esac
  done
  choose_kubernetes
  check_machine
  ensure_root
  prepare_enter
  local reason
  reason=$(isolated "${enter[@]}" -- bash "$project/e2e/cluster/probe.sh") || skip "${reason:-the probe of this machine failed}"
  in_e2e_root bash "$project/e2e/cluster/build.sh" || exit
  if [[ ${EMPI_CNI:-} == calico ]]; then in_e2e_root bash "$project/e2e/cluster/build.sh" calico || exit; fi
  with_lock start "$nodes"
}

# Cases run where the shell does not stop at failures by itself, hence the explicit exits here and below.
in_e2e_root() { (enter_root "$@"); }

started_here=false # by start()
start() {
  if is_ready; then
    [[ -z ${EMPI_IP_FAMILY:-} || $EMPI_IP_FAMILY == $(cat "$state/ip-family") ]] ||
      die "e2e: cluster $cluster is up with addresses of IPv$(cat "$state/ip-family"): ./dev e2e down, or EMPI_CLUSTER=NAME for another"
    say "the cluster is up: ./dev e2e status"
    return
  fi
  down quiet
  mkdir -p "$state"/{log,pid}
  : >"$state/progress"
  of_cluster kubernetes_minor >"$state/kubernetes"
  echo "${EMPI_IP_FAMILY:-4}" >"$state/ip-family"
  echo "${EMPI_CNI:-ptp}" >"$state/cni"
  in_e2e_root bash "$project/e2e/cluster/pause_image.sh" "$cluster" || exit 1
  # A trap that does more than to say so has hung, on a busy machine, in what it started: so the loop below does it.
  interrupted=
  trap 'interrupted=yes' INT TERM
  # It writes down who it is before it is anything, so that down finds it whatever happens to us.
  # shellcheck disable=SC2016
  setsid bash -c 'echo "$$ $(awk "{ sub(/.*\) /, \"\"); print \$20 }" /proc/$$/stat)" >"$1/keeper"; shift; exec "$@"' \
    empi-keeper "$state" unshare --mount --pid --fork --kill-child --net --uts --ipc --propagation private -- \
    "${enter[@]}" -- catatonit -- bash "$project/e2e/cluster/control.sh" "$cluster" "$1" \
    </dev/null >"$state/log/control.log" 2>&1 8>&- &
  local started=$! shown=0 line lines
  while true; do
    [[ -z $interrupted ]] || interrupted_start
    mapfile -t -s "$shown" lines <"$state/progress"
    for line in "${lines[@]}"; do
      shown=$((shown + 1))
      case $line in
        ready)
          trap - INT TERM
          [[ -z $interrupted ]] || interrupted_start
          started_here=true
          say "cluster $cluster is up: ./dev e2e kubectl get nodes"
          return
          ;;
        failed) failed_start ;;
        *) say "$line" ;;
      esac
    done
    kill -0 "$started" 2>/dev/null || failed_start
    if compgen -G "$state/*/died" >/dev/null; then failed_start; fi
    sleep 0.1 || true # Ctrl-C ends it as well; then the trap is to run, and the shell not to stop before
  done
}

# Once only and to its end, however often somebody presses Ctrl-C.
interrupted_start() {
  trap '' INT TERM
  down quiet
  trap - INT TERM
  kill -INT $$
}

failed_start() {
  local kept=$project/out/e2e-logs
  rm -rf "$kept"
  mkdir -p "$kept"
  cp "$state"/log/* "$kept/"
  local file
  tail -n 5 "$kept/control.log" >&2
  for file in "$state"/*/died; do # a daemon of a node ended; most often the kubelet says why
    if [[ -e $file ]]; then tail -n 2 "$kept/$(basename "$(dirname "$file")").kubelet.log" | cut -c1-400 >&2; fi
  done
  down quiet
  say "e2e: the cluster did not come up; its logs are in $kept"
  exit 1
}

# Ends the cluster and removes all that is left of it, also after a crash. Safe to call at any time.
down() {
  local deadline=$((SECONDS + 60)) keeper='' init=''
  if find_cluster; then
    kill -9 "$init" 2>/dev/null || true # the kernel ends every process in its namespaces before it is gone
    wait_gone "$init" "$deadline"
  fi
  if [[ -n $keeper && -e $state/keeper ]]; then
    [[ $(start_time "$keeper") != "$(cut -d' ' -f2 "$state/keeper")" ]] || kill -9 "$keeper" 2>/dev/null || true
    wait_gone "$keeper" "$deadline"
  fi
  until remove_cgroups "$cluster"; do
    [[ $SECONDS -lt $deadline ]] || { say "e2e: control groups of the cluster cannot be removed; processes in them: $(cgroup_processes)"; exit 1; }
    sleep 0.1
  done
  rm -rf --one-file-system "$state"
  [[ ${1:-} == quiet ]] || say "cluster $cluster is down"
}

cgroup_processes() { find /sys/fs/cgroup -path "*/empi-$cluster/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -nu | paste -sd' '; }

wait_gone() { # PID DEADLINE: a zombie whose parent is slow to bury it is gone too
  while [[ -e /proc/$1 ]] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; do
    [[ $SECONDS -lt $2 ]] || { say "e2e: process $1 of the cluster does not end"; exit 1; }
    sleep 0.05
  done
}

status() {
  if is_ready; then
    say "cluster $cluster is up with Kubernetes $EMPI_KUBERNETES (process $init, folder $state)"
    on_cluster kubectl get nodes --output wide
  elif find_cluster; then
    say "cluster $cluster is starting"
    cat "$state/progress"
  elif [[ -e $state ]]; then
    say "cluster $cluster has died; ./dev e2e down removes what is left"
    return 1
  else
    say "cluster $cluster is not running"
    return 1
  fi
}

load() { # NAMES and FILES
  [[ $# -gt 0 ]] || die 'e2e: load wants images: names of ./dev images, or docker-archive files'
  need_cluster
  local image file built_archives=() other_archives=()
  for image in "$@"; do
    file=$image
    [[ $image == */* || $image == *.tar ]] || file=$project/build/images/$image.tar
    [[ -e $file ]] || die "e2e: there is no $file: ./dev images $image makes the images of this project"
    if [[ $file == "$image" ]]; then other_archives+=("$file"); else built_archives+=("$file"); fi
  done
  # Those of ./dev images have their base in common.
  if [[ ${#built_archives[@]} -gt 1 ]]; then
    rm -f "$state/load.tar" # of a load that was stopped: it may be a link to an image
    in_cluster python3 "$project/e2e/cluster/join_archives.py" "$inside_state/load.tar" "${built_archives[@]}" || exit 1
    load_into_nodes
  else
    other_archives=("${built_archives[@]}" "${other_archives[@]}")
  fi
  for file in "${other_archives[@]}"; do
    # Where it is visible for the nodes.
    ln -f "$file" "$state/load.tar" 2>/dev/null || cp --remove-destination "$file" "$state/load.tar"
    load_into_nodes
  done
  say "loaded $*"
}

load_into_nodes() {
  in_cluster bash "$project/e2e/cluster/ctl.sh" "$cluster" load "$inside_state/load.tar" || exit 1
  rm -f "$state/load.tar"
}

logs() {
  need_cluster
  if [[ -z $1 ]]; then
    find "$state/log" -name '*.log' -printf '%f\n' | sed 's/\.log$//' | sort
  else
    [[ -e $state/log/$1.log ]] || die "e2e: there is no log '$1'; ./dev e2e logs lists them"
    tail -n 50 "$state/log/$1.log"
  fi
}
