# shellcheck shell=bash
# ./dev bench k8s-NAME: benchmarks on a Kubernetes of their own, which they start and end. Sourced by root.sh, on the
# host. Figures go to stdout, notes to stderr, logs to out/bench/NAME.

# shellcheck source=scripts/e2e.sh
source "$project/scripts/e2e.sh"

bench_k8s() { # NAME ARGS...
  local name=$1 preset=${EMPI_PRESET:-release} logs status=0
  shift
  cluster=${EMPI_CLUSTER:-$cluster}-bench
  state=$cache/cluster/$cluster
  inside_state=/cache/cluster/$cluster
  ensure_root
  (enter_root "$project/dev" build "$preset" --target elastic-mpi-operator stub_leads bench_k8s_scale) >&2 || exit 1
  choose_root packages-e2e.txt
  trap 'with_lock down quiet' EXIT
  # What has died left its state; what runs is not fresh.
  with_lock down quiet
  up --nodes 1 >&2
  in_e2e_root bash "$project/e2e/cluster/build.sh" kwok >&2 || exit 1
  logs=$project/out/bench/$name
  rm -rf "$logs"
  mkdir -p "$logs"
  in_cluster bash "$project/e2e/bench/${name//-/_}.sh" "$project/build/$preset/bin" "$logs" "$@" || status=$?
  trap - EXIT
  with_lock down quiet
  exit "$status"
}
