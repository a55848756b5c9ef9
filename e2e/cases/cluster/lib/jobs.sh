# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Jobs of cases: small Jacobi iterations of 20 ms, of 150 ms where they do not end by themselves. Their ranks sleep most of
# the time, so that the cluster stays quick however many there are. (An iteration costs each a millisecond, most of it in
# waiting for the others.) Sourced by operator.sh.

# job NAME ITERATIONS [JQ]: makes a job of 2 workers (1 to 8 are allowed); JQ changes the manifest. 0 iterations:
# it does not end by itself.
job() { manifest "$@" | k apply -f - >/dev/null; }
manifest() {
  jq -n --arg name "$1" --arg iterations "${2/#0/1000000000}" --arg pace "$(($2 > 0 ? 20 : 150))" --arg image "$(image jacobi)" '
    {apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob", metadata: {name: $name},
     spec: {
       worker: {
         replicas: 2, minReplicas: 1, maxReplicas: 8,
         template: {spec: {containers: [{
           name: "worker", image: $image, command: ["empi-jacobi"],
           args: ["--n", "64", "--iterations", $iterations, "--tolerance", "0", "--pace", $pace],
           resources: {requests: {cpu: "50m", memory: "32Mi"}}}]}}},
       resize: {joinTimeoutSeconds: 240, prepareTimeoutSeconds: 120}}} | '"${3:-.}"
}

# --- what is asked -----------------------------------------------------------------------------------------

get_job() { get_object "emj/$1"; }
get_pods() { api "/api/v1/namespaces/$namespace/pods?labelSelector=elasticmpi.io/job-name%3D$1"; }
job_is() { get_job "$1" | jq -e "$2" >/dev/null; }             # NAME JQ
pods_are() { get_pods "$1" | jq -e ".items | $2" >/dev/null; } # NAME JQ, of their list
value() { get_job "$1" | jq -r "$2"; }
pods() { get_pods "$1" | jq -r '.items | map(select(.metadata.deletionTimestamp == null)) | sort_by(.metadata.labels["elasticmpi.io/worker-index"] | tonumber) | .[].metadata.name'; }
running() { job_is "$1" ".status.state == \"Running\" and .status.joinedReplicas == $2 and (.status.resize.id == null)"; } # NAME SIZE
# condition NAME TYPE [REGEX]: it is true, and its reason and message are as REGEX says.
condition() {
  get_job "$1" | jq -e --arg type "$2" --arg words "${3:-.}" \
    '.status.conditions[]? | select(.type == $type and .status == "True") | "\(.reason): \(.message)" | test($words)' >/dev/null
}
get_events() { api "/api/v1/namespaces/$namespace/events?fieldSelector=involvedObject.name%3D$1${2:+,reason%3D$2}"; } # NAME [REASON]
event() { # NAME REASON [REGEX]; a REASON of '' is any
  get_events "$1" "$2" | jq -e --arg words "${3:-.}" 'any(.items[]; .message | test($words))' >/dev/null
}
pod_gone() { gone "pod/$1"; }

# The iterations that a pod's sidecar has counted.
iterations() { api "/api/v1/namespaces/$namespace/pods/$1:7401/proxy/metrics" | awk '/^empi_iterations_total/ { sum += $2 } END { printf "%d\n", sum }'; }
beyond() { [[ $(iterations "$1") -gt $2 ]]; }
# JOB: its youngest member iterates now. A pod that waits for a node is none yet, nor one that is not said to be ready.
iterates() {
  local pod before
  wait_until 20 "a ready pod of $1 says its iterations" counted "$1" && wait_until 20 "$pod iterates" beyond "$pod" "$before"
}
counted() { # on a busy machine the first question may take too long, and readiness is said late
  pod=$(get_pods "$1" | jq -er '.items | map(select(.metadata.deletionTimestamp == null and any(.status.conditions[]?; .type == "Ready" and .status == "True")))
    | max_by(.metadata.labels["elasticmpi.io/worker-index"] | tonumber) | .metadata.name') && before=$(iterations "$pod")
}
# What the programs of JOB have printed, as far as their pods are still there.
worker_logs() {
  get_pods "$1" | jq -r '.items[].metadata.name' | while read -r pod; do pod_log "$pod" worker || true; done # one may have gone
}
# The loss of a member can be borne: before, it ends the run.
has_copies() { within 60 'every rank has copies' copied "$1"; }
copied() { worker_logs "$1" | grep 'every rank has copies on another pod' >/dev/null; } # -q would end the logs' command early
# What the program printed when it had ended: its result to the last bit.
fingerprint() {
  worker_logs "$1" |
    sed -n 's/.*\(error .* fingerprint [0-9a-f]*\).*/\1/p'
}

# --- promises ----------------------------------------------------------------------------------------------

# within SECONDS WHAT COMMAND...: COMMAND succeeds, tried again and again (wait_until: SECONDS are of a quiet machine).
within() {
  local bound=$1 what=$2 start=$EPOCHREALTIME
  shift 2
  wait_until "$bound" "$what" "$@" || fail "not so in time: $what"
  say "so it is, after $(elapsed "$start") s: $what"
}
elapsed() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

runs() { # NAME SIZE [SECONDS]: the job runs with so many workers, and all of them are pods that iterate
  within "${3:-60}" "$1 runs with $2" running "$1" "$2"
  within 20 "$1 has $2 pods that are to stay" pods_are "$1" "map(select(.metadata.deletionTimestamp == null)) | length == $2"
}
ends() { within "${3:-60}" "$1 ends: $2" job_is "$1" ".status.state == \"$2\""; } # NAME STATE [SECONDS]
# refuses WORDS NAME PATCH: the API server does not take the merge patch, and says WORDS.
refuses() {
  local answer
  if ! answer=$(k patch emj "$2" --type=merge -p "$3" 2>&1) && [[ $answer == *"$1"* ]]; then return 0; fi
  say "the answer was: $answer"
  return 1
}

# --- the agents' HTTP --------------------------------------------------------------------------------------

# controller_of JOB [KEY]: key and certificate of whoever commands the job, made of the root key as the operator makes them
# (runtime/base/certificates.cpp): by default the one that is in use.
controller_of() {
  local uid folder key=${2:-}
  [[ -n $key ]] || key=$(kubectl --namespace "$system" get secret elastic-mpi-operator-root-key -o jsonpath='{.data.key}' | base64 -d | head -n 1)
  uid=$(value "$1" .metadata.uid)
  folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-controller-XXXXXX")
  (
    cd "$folder"
    hmac() { openssl dgst -sha256 "$@" -hex | sed 's/.*= *//'; }
    # A private key of P-256 in DER: SEC 1 without the public half, which follows from it.
    perl -e 'print pack "H*", shift' "30310201010420$(printf 'P-256 0 authority of %s' "$uid" | hmac -hmac "$key")a00a06082a8648ce3d030107" |
      openssl ec -inform DER -out authority.key
    openssl req -x509 -key authority.key -out authority.pem \
      -subj "/CN=Elastic MPI job $(openssl pkey -in authority.key -pubout -outform DER | hmac | cut -c1-32)"
    openssl ecparam -name prime256v1 -genkey -noout -out controller.key
    openssl req -new -key controller.key -subj /CN=controller -out controller.csr
    printf 'subjectAltName = URI:empi://job/%s/controller\nextendedKeyUsage = clientAuth\n' "$uid" >extensions
    openssl x509 -req -in controller.csr -CA authority.pem -CAkey authority.key -days 1 -extfile extensions -out controller.pem
    cat controller.key controller.pem >both
  ) >/dev/null 2>&1 || fail "no certificate of the controller of $1 could be made"
  cat "$folder/both"
  rm -rf "$folder"
}
# agent POD TOKEN METHOD PATH [BODY]: the answer, status line first; `none`: nothing was answered. Asked with the
# certificate of the job's controller where its pods speak TLS ($controller_pem: a file with another one). Spoken through
# the pod, with what its image has: agents listen at the pod's address only, which need not be reached from here.
# TOKEN `job`: the one that the pod has.
agent() {
  local pod=$1 token=$2 job=${1%-w-*} folder scheme=http relay options=(--include --silent --max-time 20 --http1.1)
  # shellcheck disable=SC2016  # the pod's own variables
  [[ $token != job ]] || token=$(k exec "$pod" -c worker -- bash -c 'head -n 1 "$EMPI_TOKEN_FILE"')
  folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-agent-XXXXXX")
  if job_is "$job" '.status.mutualTLS == true'; then
    scheme=https
    if [[ -n ${controller_pem:-} ]]; then cp "$controller_pem" "$folder/pem"; else controller_of "$job" >"$folder/pem"; fi
    options+=(--insecure --cert "$folder/pem") # the pod's certificate has no name of a host
  fi
  # shellcheck disable=SC2016
  perl -MIO::Socket::UNIX -e 'my $at = IO::Socket::UNIX->new(Local => shift, Listen => 1) or die; my $peer = $at->accept;
      open STDIN, "<&", $peer; open STDOUT, ">&", $peer; exec @ARGV' "$folder/socket" \
    kubectl -n "$namespace" exec -i "$pod" -c worker -- bash -c \
    'exec 3<>"/dev/tcp/$EMPI_POD_ADDRESS/7400" || exit; cat <&0 >&3 2>/dev/null & cat <&3; kill $!' 2>/dev/null &
  relay=$!
  wait_until 10 'somebody listens for curl' test -S "$folder/socket"
  curl "${options[@]}" --unix-socket "$folder/socket" --request "$3" --header "Authorization: Bearer $token" \
    --header 'Connection: close' --header 'Content-Type: application/json' ${5:+--data "$5"} "$scheme://pod$4" || echo none
  kill "$relay" 2>/dev/null || true
  wait "$relay" 2>/dev/null || true
  rm -rf "$folder"
}
# answers STATUS WORDS POD TOKEN METHOD PATH [BODY]; STATUS none: not at all
answers() {
  local answer
  answer=$(agent "${@:3}")
  if [[ $answer == "HTTP/1.1 $1 "* || $answer == "$1" ]] && [[ $answer == *"$2"* ]]; then return 0; fi
  say "the answer was: $answer"
  return 1
}
# Put into a manifest: one worker on every node, as far as that goes.
# shellcheck disable=SC2034
spread='.spec.worker.template.spec.topologySpreadConstraints = [{maxSkew: 1, topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "ScheduleAnyway", labelSelector: {matchLabels: {"elasticmpi.io/job-name": .metadata.name}}}]'
# POD REGEX: the processes in a pod with such a command line. Those of nodes are visible from here; the host name tells
# which are a pod's.
processes_of_pod() {
  local pid
  for pid in $(pgrep -f "$2"); do
    if [[ $(nsenter --target "$pid" --uts hostname 2>/dev/null) == "$1" ]]; then echo "$pid"; fi
  done
}
node_of() { get_object "pod/$1" | jq -r .spec.nodeName; }
