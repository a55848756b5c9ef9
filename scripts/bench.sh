#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench NAME [ARGUMENTS]|list: prints figures, one a line: bench NAME.FIGURE VALUE UNIT. Notes go to
# stderr. Runs inside the root with the built programs on PATH.
# bench.sh --targets NAME: what must be built for it, for scripts/inside.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

# name|program and fixed arguments|what it measures. A program here is built by the target of its name, with what it
# starts; scripts start programs of the product, or say in a line of their own what they want: # targets: NAME...,
# where jobs stands for what any job takes.
benches='probe|bench_change job bench_probe|cost of an idle MPI_Probe_adapt
wish|bench_change job bench_wish|an iteration that says what it can use over one that does not
pause|bench_change pause|begin..commit without data, time lost by a change; arguments: numbers of ranks (4 8 16 32 64)
grow|bench_change grow|phases of growing; argument: number of ranks (16)
shrink|bench_change shrink|phases of shrinking; argument: number of ranks (16)
change-real|bench_change real|128 real ranks on this machine through 10 changes: how many are committed, how soon; arguments: ranks (128) and changes (10)
change-rss|bench_change rss|memory that a rank keeps of each change; argument: changes (200)
profile-overhead|bench_profile_overhead|run time with the profile over without it, at 10 k and 500 k MPI calls/s, with its 95 % interval
parked|bench_parked|a small allreduce beside a thread that waits in MPI for good, over one without, and what the thread takes, with one and two threads in its progress at a time
waiting|bench_waiting|processor time of a rank that waits for a message on shared processors, and half a round of messages, for 2 and 8 ranks, over what Open MPI does
change-scale|bench_change_scale|processor time that one grow from half costs the lead of 100 and 400 simulated pods with 64 ranks each; arguments: numbers of pods
histories|bench_histories|simulated histories of jobs: rate of one core, failures, cells of the table that were met; may be interrupted; arguments: histories (1000000), first seed (1), loops: of jobs that lose leads; votes: and ranks that vote; queues: of those that lose a queue of tasks
schedule|bench_schedule|a pass of the scheduler over 10,000 jobs on 100,000 workers, and its parts
simulate|bench_simulate|the scheduler on logs of machines, over EASY; arguments: sets (kth; mixes lublin lanl classes liars deadlines online full, all: minutes)
masterworker|bench_master_worker|share of time that workers spend in tasks, at fixed size and while pods come and go; argument: seconds (30)
masterworker-world|bench_world|what rebuilding MPI_COMM_WORLD adds to the end of a phase, for 4 and 8 ranks; argument: phases (16)
redistribute|bench_redistribute|bytes/s of a redistribution over a plain exchange
checkpoint|bench_checkpoint|checkpoints against plain writing and reading of the same bytes: bandwidth, share of the run time, restart; --megabytes (128 a rank), --ranks (2), --folder
recover|python3 apps/bench/recover.py|the loss of a rank, a pod or the lead of a loop: until it is known, until the others go on with 16 and 64 ranks, their data over a plain exchange, what the copies cost; argument: megabytes a rank (128)
swe|bench_swe|cell updates of the shallow-water step per second and core
adaption|bench_adaption|mesh adaption and balancing over step time
local-steps|bench_local_steps|what local time steps could save at most, on Chile 2010 and on a nest; options of empi-tsunami
tsunami-accuracy|python3 apps/tsunami/testing/tsunami_accuracy.py|the tsunami beside buoys, laboratories and exact solutions: a folder with tables and pictures (a quarter of an hour); --out DIR, --data DIR
spe10-accuracy|python3 apps/spe10/testing/spe10_accuracy.py|the reservoir beside OPM Flow and exact solutions: a folder with tables and pictures (ten minutes); --all: all 85 layers, too; --out DIR, --data DIR
spe10-pressure|bench_reservoir pressure|our pressure step over hypre alone and over hypre on the seven-point matrix of the same blocks, on the SPE10 field; arguments: layers (16 85)
spe10-step|bench_reservoir step|seconds per step of the reservoir, bottom 16 layers, adapted and full mesh
spe10-flow|bash apps/spe10/bench/flow.sh|30 days of the reservoir over OPM Flow on the same deck
sparsegrid|bench_sparse_grid|evaluation and hierarchisation of the sparse grid, and both over those of Tasmanian
tls|bench_tls|what TLS costs a request between agents, on a kept and on a new connection, and what a certificate costs
channel|bench_channel|one run of the channel, the forward model of the inverse problem
elastic-tsunami|python3 apps/bench/fair.py tsunami|the elastic tsunami against fixed sizes and the best plan known afterwards, on emulated slow pods (30 min); --repeats, --out DIR
elastic-spe10|python3 apps/bench/fair.py spe10|the same of the reservoir
sweep|python3 apps/bench/sweep.py|how long an iteration takes at each fixed size; arguments: spe10, tsunami or jacobi, then sizes (1 2 3 4 6 8)
build|python3 scripts/bench_build.py|processor time of compiling everything that CI compiles, over that of an older commit; --sample N, --base COMMIT
surrogate-accuracy|python3 apps/surrogate/testing/surrogate_accuracy.py|the inverse problem beside published flows, its surrogate by border and criterion: a folder with tables (some minutes); --out DIR
surrogate-runs|bench_surrogate_runs|forward runs until the surrogate error is as low as it is by default, over those by surpluses alone (elastic-surrogate.forward_runs); argument: error (.01)
elastic-surrogate|python3 apps/bench/fair.py surrogate|the same of the inverse problem
elastic-combined|python3 apps/bench/fair.py combined|the three of them added up, over the best fixed size of each; those that --out DIR has are not run again
five-tsunamis|python3 apps/bench/five_tsunamis.py|five staggered tsunamis that share 16 emulated slow pods, over the best fixed shares, one after the other, and equal shares (50 min); --repeats, --splits, --scale, --out DIR
three-programs|python3 apps/bench/three_programs.py|a tsunami, a reservoir and an inverse problem that share 8 emulated slow pods, over one after the other and fixed shares; --repeats (1), --out DIR
deadline|python3 apps/bench/goals.py deadline|Jacobi with six deadlines, from infeasible to loose, on emulated slow pods (20 min); --out DIR
budget|python3 apps/bench/goals.py budget|Jacobi with three budgets over the fastest size that each pays (25 min); --out DIR
chaos|python3 apps/bench/chaos.py|programs on local pods that are resized and lose ranks, agents, pods and links at random: hangs, wrong results; --minutes (10), --seed, --apps, --jobs (1), --out DIR'

# Started on the host, by scripts/bench_first_hour.sh, and by scripts/bench_k8s.sh on a cluster of their own.
on_host='first-hour||a minimal Debian 12 and 13 from nothing to the demo: root, build, first picture, end; --debian, --until, --keep-ccache, --keep-root
k8s-scale||the operator with 1,000 jobs of 4 pods: memory, threads, reaction, writes, at the largest rate of 20, 10, 5, 2, 1, .5 scales/s that the API server bears, and with a third of the leads silent (half an hour); --jobs, --pods, --rate, --seconds
k8s-queue||the operator with a full queue, 500 jobs of 4 that run and 500 that wait: start when pods are gone, writes, memory, pass; --jobs, --starts, --yields, --rate
k8s-resize||kubectl scale until the change of a real job is committed, and its steps; --trials, --from, --to
k8s-launch||a real job from kubectl apply to its first iteration; --trials, --workers
k8s-shrink-to-start||a rigid job on a full queue from its creation until its program runs, by shrinking another, and its steps; --trials'

list() {
  local name what
  while IFS='|' read -r name _ what; do printf '%-18s %s\n' "$name" "$what"; done <<<"$benches
$on_host"
}

only_targets=false
if [[ ${1:-} == --targets ]]; then
  only_targets=true
  shift
  case ${1:-} in list | '' | -h | --help) exit 0 ;; esac
fi
case ${1:-} in
  list)
    list
    exit 0
    ;;
  -h | --help)
    echo 'Usage: ./dev bench NAME [ARGUMENTS]|list'
    list
    exit 0
    ;;
  '')
    echo 'Usage: ./dev bench NAME [ARGUMENTS]|list' >&2
    list >&2
    exit 2
    ;;
esac
wanted=$1
shift
words=()
while IFS='|' read -r name command _; do
  if [[ $name == "$wanted" ]]; then read -ra words <<<"$command"; fi
done <<<"$benches"
if [[ ${#words[@]} -eq 0 ]]; then
  echo "bench: there is no '$wanted': ./dev bench list" >&2
  exit 2
fi
if $only_targets; then
  if [[ ${words[0]} == bench_* ]]; then
    echo "${words[0]}"
  else
    targets=$(grep -m1 '^# targets:' "${words[1]}") || targets='# targets: all'
    echo "${targets#*:}"
  fi
  exit 0
fi
if ! command -v "${words[0]}" >/dev/null; then
  echo "bench: ${words[0]} is not built; ./dev build makes it" >&2
  exit 1
fi
exec "${words[@]}" "$@"
