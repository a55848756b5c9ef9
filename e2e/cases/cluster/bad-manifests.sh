#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# any JSON at any place of a manifest is refused, or a job that says how it is; the operator and a job beside go on
# alone: two hundred jobs at once keep the API server of a small machine from answering others in time
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='400 BadRequest: Pod in version|422 Invalid: |403 Forbidden: '
count=200
# So many at once keep a small machine's API server from renewing a lease in time, above all one as short as cases have it:
# an operator that ends again and again is started ever later.
if [[ ${EMPI_FULL:-} == yes ]]; then
  count=2000 operator_may_restart=true
  helm_upgrade --set replicas=2,options.leaseSeconds=60,options.renewSeconds=40,options.retrySeconds=5
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-manifests-XXXXXX")
case_repair() {
  rm -rf "$folder"
  if [[ ${EMPI_FULL:-} == yes ]]; then helm_upgrade --set replicas=2; fi
}

# Cases before this one may have let it crash.
not_killed() {
  awk -v lost_lease="$lost_lease" 'NR == FNR { before[$1] = $2; next } $2 > before[$1] && $3 != 0 && $3 != lost_lease { killed = 1 }
    END { exit killed }' <(echo "$restarts_before") <(operator_restarts)
}

job healthy 0
runs healthy 2
jobs_path=/apis/elasticmpi.io/v1alpha1/namespaces/$namespace/elasticmpijobs

jq -nc --argjson count "$count" --argjson seed 1 --arg namespace "$namespace" -f "$(dirname "$0")/lib/bad_manifests.jq" |
  split --lines=1 --suffix-length=4 --numeric-suffixes - "$folder/manifest-"
# All by one process, some at a time: a line for each, its status and file.
send() {
  local file next=
  for file in "$folder"/manifest-*; do
    printf '%s\n' $next "url = \"http://localhost$jobs_path\"" "unix-socket = \"$api_socket\"" 'header = "Content-Type: application/json"' \
      "data-binary = \"@$file\"" "output = \"${file/manifest-/answer-}\"" 'write-out = "%{http_code} %{filename_effective}\n"'
    next=next
  done | curl --silent --parallel --parallel-max 2 --config - >"$folder/answers"
}
start=$EPOCHREALTIME
expect "$count manifests are answered" send
say "sent in $(elapsed "$start") s: $(cut -d' ' -f1 "$folder/answers" | sort | uniq -c | awk '{ printf "%s%d times %s", sep, $1, $2; sep = ", " }')"
in_words() { # what was refused is said why
  local file
  [[ $(wc -l <"$folder/answers") == "$count" ]] && ! grep -vE '^(201|400|409|422) ' "$folder/answers" || return 1
  while read -r file; do jq -e '.message | length > 0' "$file" >/dev/null || { say "$file: $(cat "$file")"; return 1; }; done \
    < <(sed -n 's/^4[0-9]* //p' "$folder/answers")
}
expect 'each was taken, or refused in words' in_words
taken=$(grep -c '^201' "$folder/answers")
expect 'enough of them were taken' test $((10 * taken)) -gt "$count"

# What a job says of itself: why it failed, that it cannot be read, what it waits for, why its last attempt to start failed
# (until it begins the next one, which may be minutes), or that it is suspended. One that is another operator's says nothing.
# shellcheck disable=SC2016  # of jq
says='
  def said($type; $status; $words): any(.status.conditions[]?; .type == $type and .status == $status and .reason != "" and (.message | test($words)));
  def says: (.spec.managedBy // "elasticmpi.io/operator") != "elasticmpi.io/operator"
    or .status.state == "Failed" and said("Failed"; "True"; ".")
    or .status.state == "Suspended" and said("Suspended"; "True"; ".")
    or said("Readable"; "False"; ".") or said("PodCreationBlocked"; "True"; ".") or said("WorkersReady"; "False"; "missing: .")
    or said("ResizeBlocked"; "True"; "needed; missing: .");'
jobs() { api "$jobs_path" | jq -er "$says .items | map(select(.metadata.name != \"healthy\")) | $1"; }
all_say() { jobs "length == $taken and all(says)"; }
if ! (within $((count / 5)) 'each says what is wrong or what it waits for' all_say); then
  jobs 'map(select(says | not)) | .[:5][] | {metadata: .metadata.name, spec, status}' >&2
  exit 1
fi
say "they are: $(jobs 'group_by(.status.state) | map("\(length) \(.[0].status.state // "left alone")") | join(", ")')"
silent_ones() { jq -n '{items: [{metadata: {name: "x"}, spec: {}}, {metadata: {name: "y"}, spec: {}, status: {state: "Failed"}}]}' | jq -e "$says .items | all(says | not)"; }
expect 'one that says nothing would have been seen' silent_ones >/dev/null
expect 'no defect of the operator was met' jobs 'all(.[].status.conditions[]?; .type != "InternalError")' >/dev/null
expect 'nor did the operator end but for its lease' not_killed
iterates healthy
k scale emj healthy --replicas=3 >/dev/null
runs healthy 3
iterates healthy
expect 'it was never interrupted' job_is healthy '.status.restarts == 0 and .status.epoch == 2'

delete_all() { api "$jobs_path?fieldSelector=metadata.name!=healthy" -X DELETE --max-time $((30 + count / 4)) >/dev/null; }
start=$EPOCHREALTIME
expect 'the API server is told to delete all others' delete_all
say "it answered in $(elapsed "$start") s"
all_gone() { jobs 'length == 0' && api "/api/v1/namespaces/$namespace/pods" | jq -e '.items | all(.metadata.labels["elasticmpi.io/job-name"] == "healthy")'; }
within $((30 + count / 20)) 'all can be deleted, with their pods' all_gone
iterates healthy
