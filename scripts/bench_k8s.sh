# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev bench k8s-NAME: benchmarks on a Kubernetes of their own, which they start and end. Sourced by root.sh, on the
# host. Figures go to stdout, notes to stderr, logs to out/bench/NAME.

# shellcheck source=scripts/e2e.sh
source "$project/scripts/e2e.sh"

bench_k8s() { # NAME ARGS...
  local name=$1 preset=${EMPI_PRESET:-release} logs status=0
  local targets=(bench_k8s_jobs) nodes=2 script=(k8s_jobs.sh "${1#k8s-}")
  shift
  [[ $name =~ ^k8s-(scale|queue|resize|launch|shrink-to-start)$ ]] || die "bench: there is no '$name': ./dev bench list"
  if [[ $name =~ ^k8s-(scale|queue)$ ]]; then
    targets=(elastic-mpi-operator stub_leads "bench_${name/-/_}") nodes=1 script=(k8s_scale.sh "${name#k8s-}")
  fi
  cluster=${EMPI_CLUSTER:-$cluster}-bench
  state=$cache/cluster/$cluster
  inside_state=/cache/cluster/$cluster
  ensure_root
  (enter_root "$project/dev" build "$preset" --target "${targets[@]}") >&2 || exit 1
  choose_root packages-e2e.txt
  trap 'trap "" INT TERM; with_lock down quiet' EXIT
  # What has died left its state; what runs is not fresh.
  with_lock down quiet
  up --nodes $nodes >&2
  if [[ $nodes == 1 ]]; then
    in_e2e_root bash "$project/e2e/cluster/build.sh" kwok >&2 || exit
  else
    in_e2e_root bash "$project/e2e/cluster/build.sh" helm >&2 || exit
    load_images operator runtime jacobi >&2
  fi
  logs=$project/out/bench/$name
  rm -rf "$logs"
  mkdir -p "$logs"
  in_cluster env EMPI_CLUSTER="$cluster" bash "$project/operator/programs/operator/bench/${script[0]}" "${script[@]:1}" "$project/build/$preset/bin" "$logs" "$@" || status=$?
  trap - EXIT
  with_lock down quiet
  exit "$status"
}
