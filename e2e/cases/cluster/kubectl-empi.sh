#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl finds empi as its plugin: it shows, explains, scales, runs and cancels jobs, shows queues, prints what rank 0 prints; the accounts can be simulated
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case

plugins=$(mktemp -d)
case_repair() {
  queue_goes
  rm -rf "$plugins"
}
for name in empi kubectl-empi; do ln -s "$project/build/images/context/bin/empi" "$plugins/$name"; done
PATH=$plugins:$PATH
said=$plugins/said
# empi WORDS...: what it says is in $said.
empi() { kubectl empi "$@" --namespace "$namespace" >"$said" 2>&1; }
says() { empi "${@:2}" && grep -qE "$1" "$said"; } # REGEX WORDS...

queue '.spec.hold = "Start"'
job held 0 "$in_queue"
# Its policy would decide something after minutes.
job live 0 '.spec.autoscaling = {mode: "Auto", policy: {name: "efficiency"}, windowSeconds: 60}'
runs live 2
expect 'top shows it' says '^live +Running +2' top
expect 'with all namespaces, too' eval 'kubectl empi top --all-namespaces | grep "kubectl-empi *live" >/dev/null'
expect 'it is scaled' empi scale live 3
runs live 3
expect 'why tells who wrote the size' says '3 workers' why live
within 10 'autoscaling rests' condition live AutoscalingPaused
expect 'and is resumed' says 'autoscaling goes on' resume live
within 10 'it goes on' job_is live 'all(.status.conditions[]; .type != "AutoscalingPaused" or .status == "False")'
expect 'queue tells what there is' says '^queue kubectl-empi  0 of 0.48 CPUs held.*; 0 jobs run, 1 waits$' queue
expect 'and who waits for what' grep -qE '^  held  Queued  waits .*needs 1 worker' "$said"
expect 'history tells of the change' says '2 -> 3' history live
manifest short 30 >"$plugins/short.json"
expect 'a job is run to its end' says 'fingerprint' run "$plugins/short.json"
expect 'its log is there afterwards' says 'fingerprint' logs short
expect 'it is cancelled' empi cancel live
ends live Failed 20
unknown() { local status=0; empi why nobody || status=$?; [[ $status == 2 && $(wc -l <"$said") == 1 ]] && grep -q nobody "$said"; }
expect 'a job that there is not is refused in one line' unknown

# docs/operate.md, Accounts: word for word.
accounts=$(sed -n '/^      kubectl .*accounts\.swf$/,/^      empi simulate accounts/s/^ *//p' "$project/docs/operate.md")
in_accounts() { grep -q " name=$1 .*uid=$(value "$1" .metadata.uid) " "$plugins/accounts.swf"; }
simulated() {
  (cd "$plugins" && bash -euo pipefail -c "$accounts" >"$said" 2>&1) && grep -qE '^ *[1-9][0-9]* jobs on 64 processors' "$said" &&
    in_accounts short && in_accounts live
}
expect 'the accounts are what its commands want' test "$(wc -l <<<"$accounts")" = 2
within 20 'they simulate what has ended, both jobs of this case too' simulated
