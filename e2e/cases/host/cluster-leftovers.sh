#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev e2e down leaves nothing on the machine, also after a crash, a kill or Ctrl-C during the start or a case
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# A run of its own, also where others share their cases.
export EMPI_CLUSTER=left$$ EMPI_CLUSTERS=1 EMPI_CASE_CLAIMS=
cache=${EMPI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/elastic-mpi}
state=$cache/cluster/$EMPI_CLUSTER
work=$(mktemp -d)
trap './dev e2e down >/dev/null 2>&1; rm -rf "$work" "$state.lock"' EXIT

fail() { echo "not so: $*" >&2; exit 1; }

# The settings of the machine that a kubelet or a kube-proxy would change, its interfaces and its filter rules.
settings() {
  (cd /proc/sys && head -v vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops net/ipv4/ip_forward)
  ls /sys/class/net
  iptables-save 2>/dev/null | grep -v '^#' || true
}

# What a cluster is made of, as far as it shows: prints it.
remains() {
  find /sys/fs/cgroup -name "empi-$EMPI_CLUSTER" 2>/dev/null
  grep -F "$EMPI_CLUSTER" /proc/self/mountinfo || true
  # Every process of a cluster is a child of the one that has the state folder on its command line. (One that ends while it
  # is read is an error for grep; and grep would find itself by a pattern among its arguments.)
  { grep -lsFf <(echo "cluster/$EMPI_CLUSTER") /proc/[0-9]*/cmdline || true; } | sed 's/[^0-9]//g; s/^/process /'
  if [[ -e $cache/cluster/$EMPI_CLUSTER ]]; then echo "$state"; fi
}

nothing_left() { # AFTER WHAT
  local found
  found=$(remains)
  [[ -z $found ]] || fail "nothing is left after $1; there is:"$'\n'"$found"
  settings >"$work/now"
  diff "$work/before" "$work/now" >&2 || fail "the machine is as before after $1"
  echo "so it is: nothing is left after $1" >&2
}

# Process 1 of the running cluster, and all that descend from it, by id and time of start, from outside.
init() {
  local keeper
  read -r keeper _ <"$state/keeper"
  tr -d ' ' <"/proc/$keeper/task/$keeper/children"
}
# Of each process its id, its parent's, its session and its time of start. (What it is called may have spaces.)
all_processes() {
  { cat /proc/[0-9]*/stat 2>/dev/null || true; } | awk '{ pid = $1; sub(/.*\) /, ""); print pid, $2, $4, $20 }'
}
processes() { # [LEAST]: prints them; fewer than that (10) are not all
  local first found
  first=$(init)
  found=$(all_processes | awk -v first="$first" '
    { parent[$1] = $2; started[$1] = $4 }
    END {
      for (pid in parent) {
        for (at = pid; at in parent && at != first; at = parent[at]) {}
        if (at == first) print pid, started[pid]
      }
    }')
  [[ $(wc -l <<<"$found") -ge ${1:-10} ]] || fail "the test sees the processes of a cluster; it saw $found"
  printf '%s\n' "$found"
}
all_gone() { # FILE of processes
  local pid
  pid=$(all_processes | awk 'NR == FNR { was[$1 " " $2]; next } ($1 " " $4) in was { print $1 }' "$1" - | head -n 1)
  [[ -z $pid ]] || fail "process $pid of the cluster is gone: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
}

up() { ./dev e2e up --nodes 1 >"$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail 'the cluster comes up'; }; }

# Starts `up` in a group of its own and waits for its second line, which is in the middle of it.
up_halfway() {
  env --default-signal=INT setsid ./dev e2e up --nodes 1 >"$work/up.log" 2>&1 &
  upping=$!
  for ((tries = 0; tries < 1200; ++tries)); do
    if grep -qs 'API server' "$state/progress"; then return; fi
    kill -0 "$upping" 2>/dev/null || { cat "$work/up.log" >&2; fail 'the start gets half way'; }
    sleep 0.1
  done
  fail 'the start gets half way in two minutes'
}

# Waits for $upping and sets $status. What does not end says what each of its processes waits for.
ends_in_a_minute() { # WHAT
  local pid
  status=0
  for ((tries = 0; tries < 600; ++tries)); do
    if [[ ! -e /proc/$upping ]] || grep -q '^State:.*Z' "/proc/$upping/status" 2>/dev/null; then
      wait "$upping" || status=$?
      return
    fi
    sleep 0.1
  done
  cat "$work/up.log" >&2
  for pid in $(all_processes | awk -v session="$upping" '$3 == session { print $1 }'); do
    {
      echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
      grep -E '^(State|PPid|SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt)' "/proc/$pid/status" | paste -sd' '
      cat "/proc/$pid/wchan" "/proc/$pid/syscall" "/proc/$pid/stack"
      ls -l "/proc/$pid/fd"
    } >&2 2>/dev/null || true
  done
  kill -9 -- "-$upping"
  fail "$1 ends in a minute"
}

settings >"$work/before"

up
processes >"$work/processes"
[[ -n $(remains) ]] || fail 'the test sees a running cluster'
./dev e2e down
all_gone "$work/processes"
nothing_left 'down'

up
processes >"$work/processes"
first=$(init)
kill -9 "$first"
while [[ -e /proc/$first ]]; do sleep 0.1; done # ends: the kernel has killed all it waits for
./dev e2e status && fail 'status tells that the cluster has died'
./dev e2e down
all_gone "$work/processes"
nothing_left 'the death of process 1'

up_halfway
kill -INT -- "-$upping"
ends_in_a_minute 'an interrupted start'
[[ $status != 0 ]] || fail 'an interrupted start does not end as a success'
nothing_left 'Ctrl-C during the start'

# A case on a cluster that it has started.
env --default-signal=INT setsid ./dev e2e cluster-smoke >"$work/up.log" 2>&1 &
upping=$!
# A process that ends while its command line is read is an error for grep, and on a busy machine there always is one.
case_runs() { [[ -n $({ grep -lsF "EMPI_CLUSTER=$EMPI_CLUSTER" /proc/[0-9]*/cmdline || true; } | xargs -r grep -lsF cases/run.sh || true) ]]; }
for ((tries = 0; tries < 1200; ++tries)); do
  if case_runs; then break; fi
  sleep 0.1
done
case_runs || { cat "$work/up.log" >&2; fail 'a case begins in two minutes'; }
kill -INT -- "-$upping"
sleep 1 # somebody is impatient: it is being cleaned up, or is over
kill -INT -- "-$upping" 2>/dev/null || true
ends_in_a_minute 'a run of cases that is interrupted'
nothing_left 'Ctrl-C, twice, during a case'

up_halfway
kill -STOP -- "-$upping" # it must not come to its end while its processes are counted
processes 5 >"$work/processes"
kill -9 -- "-$upping"
wait "$upping" || true
./dev e2e down
all_gone "$work/processes"
nothing_left 'the death of ./dev e2e up'

# The same road without down between.
up
kill -9 "$(cut -d' ' -f1 "$state/keeper")"
up
./dev e2e kubectl get nodes >/dev/null || fail 'a cluster starts over the remains of a dead one'
./dev e2e down
nothing_left 'a start over the remains of a dead one'
