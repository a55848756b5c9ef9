#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl finds empi as its plugin: it shows, explains, scales, runs and cancels jobs, and prints what rank 0 prints
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case

plugins=$(mktemp -d)
case_repair() { rm -rf "$plugins"; }
ln -s "$project/build/images/context/bin/empi" "$plugins/kubectl-empi"
PATH=$plugins:$PATH
said=$plugins/said
# empi WORDS...: what it says is in $said.
empi() { kubectl empi "$@" --namespace "$namespace" >"$said" 2>&1; }
says() { empi "${@:2}" && grep -qE "$1" "$said"; } # REGEX WORDS...

job live 0
runs live 2
expect 'top shows it' says '^live +Running +2' top
expect 'with all namespaces, too' eval 'kubectl empi top --all-namespaces | grep -q "kubectl-empi *live"'
expect 'it is scaled' empi scale live 3
runs live 3
expect 'why tells who wrote the size' says '3 workers' why live
expect 'history tells of the change' says '2 -> 3' history live
manifest short 30 >"$plugins/short.json"
expect 'a job is run to its end' says 'fingerprint' run "$plugins/short.json"
expect 'its log is there afterwards' says 'fingerprint' logs short
expect 'it is cancelled' empi cancel live
ends live Failed 20
unknown() { local status=0; empi why nobody || status=$?; [[ $status == 2 && $(wc -l <"$said") == 1 ]] && grep -q nobody "$said"; }
expect 'a job that there is not is refused in one line' unknown
