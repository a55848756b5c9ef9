#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the images run as plain pods under Pod Security restricted: a Jacobi job starts, grows, shrinks (its lead leaves), ends
# images: runtime sidecar jacobi
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/case.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/case.sh"
make_namespace

token=$(openssl rand -hex 16)
k create secret generic token --from-literal=token="$token" >/dev/null

# worker JOB INDEX SLOTS COMMAND...: a pod as the operator makes them (operator/objects/pods.cpp). Either of two images
# brings the runtime; set $installer.
worker() {
  local job=$1 pod=$1-w-$2 slots=$3 command='"/opt/elastic-mpi/bin/elastic-mpi-agent", "--"' word environment
  shift 3
  for word in "$@"; do command+=", \"$word\""; done
  environment='[{name: EMPI_JOB_NAME, value: '$job'}, {name: EMPI_JOB_UID, value: '$job'}, {name: EMPI_POD_NAME, value: '$pod'},
    {name: EMPI_JOB_NAMESPACE, value: '$namespace'}, {name: EMPI_SLOTS, value: "'$slots'"},
    {name: EMPI_POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}},
    {name: EMPI_POD_ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}},
    {name: EMPI_RUN_DIR, value: /run/elastic-mpi}, {name: EMPI_TOKEN_FILE, value: /var/run/secrets/elasticmpi.io/token}]'
  local security='{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}'
  k apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $pod, labels: {job: $job}}
spec:
  restartPolicy: Never
  hostname: $pod
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 10
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {job: $job}}}
  initContainers:
    - name: sidecar
      image: $(image "$installer")
      restartPolicy: Always
      command: [/opt/elastic-mpi-image/bin/elastic-mpi-sidecar]
      lifecycle: {postStart: {exec: {command: [elastic-mpi-install, /opt/elastic-mpi]}}}
      env: $environment
      securityContext: $security
      volumeMounts:
        - {name: runtime, mountPath: /opt/elastic-mpi}
        - {name: run, mountPath: /run/elastic-mpi, readOnly: true}
        - {name: token, mountPath: /var/run/secrets/elasticmpi.io, readOnly: true}
  containers:
    - name: worker
      image: $(image jacobi)
      command: [$command]
      env: $environment
      securityContext: $security
      resources: {requests: {cpu: 100m, memory: 64Mi}}
      readinessProbe: {httpGet: {path: /v1/healthz, port: 7400}, periodSeconds: 1}
      terminationMessagePolicy: FallbackToLogsOnError
      volumeMounts:
        - {name: runtime, mountPath: /opt/elastic-mpi, readOnly: true}
        - {name: run, mountPath: /run/elastic-mpi}
        - {name: shm, mountPath: /dev/shm}
        - {name: tmp, mountPath: /tmp}
        - {name: token, mountPath: /var/run/secrets/elasticmpi.io, readOnly: true}
  volumes:
    - {name: runtime, emptyDir: {}}
    - {name: run, emptyDir: {medium: Memory}}
    - {name: shm, emptyDir: {medium: Memory}}
    - {name: tmp, emptyDir: {}}
    - {name: token, secret: {secretName: token, defaultMode: 0440}}
YAML
}

ready() { k wait --for=condition=Ready "pod/$1" --timeout=480s >/dev/null; }

# ask POD METHOD PATH [BODY]: what its agent answers; fails on a refusal, showing it. Spoken from inside the pod,
# with what its image has, because agents listen at the pod's address only and that works on every cluster.
ask() { speak "$1" 7400 "$2" "$3" "${4:-}"; }
speak() { # POD PORT METHOD PATH BODY
  local answer
  # shellcheck disable=SC2016  # the pod's own variables
  answer=$(printf '%s %s HTTP/1.1\r\nHost: pod\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
    "$3" "$4" "$token" "${#5}" "$5" |
    k exec -i "$1" -c worker -- bash -c 'exec 3<>"/dev/tcp/$EMPI_POD_ADDRESS/$1" && cat >&3 && cat <&3' - "$2") || return 1
  [[ $answer == 'HTTP/1.1 2'* ]] || { say "$3 $4 at $1: $answer"; return 1; }
  printf '%s\n' "${answer#*$'\r\n\r\n'}"
}

# A pod as the agents' protocol names it.
member() { # POD SLOTS
  get_object "pod/$1" | jq -c --argjson slots "$2" \
    '{uid: .metadata.uid, name: .metadata.name, address: (.status.podIP + ":7400"), slots: $slots}'
}
ended() { k wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$1" --timeout=480s >/dev/null; }
fingerprint() { pod_log "$1" worker | sed -n 's/.*\(error .* fingerprint [0-9a-f]*\).*/\1/p'; }

# Two short jobs: the answer does not depend on pods and ranks.
for job in one two; do
  pods=1 installer=sidecar
  [[ $job == one ]] || pods=2 installer=runtime
  for ((i = 0; i < pods; ++i)); do worker $job $i $pods empi-jacobi --n 64 --iterations 300 --tolerance 0; done
  members=''
  for ((i = 0; i < pods; ++i)); do
    ready $job-w-$i
    members+=${members:+,}$(member $job-w-$i $pods)
  done
  ask $job-w-0 POST /v1/start "{\"fence\": 1, \"members\": [$members]}" >/dev/null
  for ((i = 0; i < pods; ++i)); do ended $job-w-$i; done
done
same_answer() { [[ -n $(fingerprint one-w-0) && $(fingerprint one-w-0) == "$(fingerprint two-w-0)" ]]; }
expect 'one rank in one pod and four in two give the same answer to the last bit' same_answer

# A long one that changes its size; its ranks sleep most of the time, so that the cluster stays quick.
for i in 0 1 2; do worker long $i 2 empi-jacobi --n 64 --iterations 1000000000 --tolerance 0 --pace 20; done
for i in 0 1 2; do ready long-w-$i; done
nodes() { k get pods -l job=long -o jsonpath='{.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l; }
say "its pods are on $(nodes) nodes"
ask long-w-0 POST /v1/start "{\"fence\": 1, \"members\": [$(member long-w-0 2), $(member long-w-1 2)]}" >/dev/null
iterations() { speak "$1" 7401 GET /metrics '' | awk '/^empi_iterations_total/ { sum += $2 } END { print sum + 0 }'; }
moved_on() { [[ $(iterations "$1") -gt $2 ]]; }
iterates() { wait_until 60 "$1 iterates" moved_on "$1" "$(iterations "$1")"; }
expect 'the sidecar counts iterations' iterates long-w-1

change() { ask "$1" GET /v1/change | jq -e --arg id "$2" '.changes[] | select(.request.id == $id)'; } # POD CHANGE
over() { change "$@" | jq -e '.outcome != ""'; }
commits() { # POD CHANGE
  wait_until 90 "the change $2 is over" over "$@" || return 1
  change "$@" | jq -e '.outcome == "committed"' >/dev/null || { change "$@" | jq -c . >&2; return 1; }
}
members_are() { # POD POD...
  local pod=$1
  shift
  [[ $(ask "$pod" GET /v1/membership | jq -r '[.membership.members[].name] | join(" ")') == "$*" ]]
}
times() { # POD CHANGE
  say "$2: $(ask "$1" GET /v1/change | jq -c --arg id "$2" '.changes[] | select(.request.id == $id) | .times')"
}
ask long-w-0 PUT /v1/change "{\"id\": \"grow\", \"fence\": 1, \"epoch\": 1, \"add\": [$(member long-w-2 2)], \"deadlineMillis\": 240000}" >/dev/null
expect 'a third pod joins' commits long-w-0 grow
times long-w-0 grow
expect 'all three are members' members_are long-w-0 long-w-0 long-w-1 long-w-2

epoch=$(ask long-w-0 GET /v1/membership | jq .membership.epoch)
ask long-w-0 PUT /v1/change "{\"id\": \"shrink\", \"fence\": 1, \"epoch\": $epoch, \"remove\": [\"$(uid_of pod/long-w-0)\"], \"deadlineMillis\": 240000}" >/dev/null
expect 'the lead leaves' wait_until 60 'the others are the members' members_are long-w-1 long-w-1 long-w-2
expect 'its pod ends well' ended long-w-0
expect 'the others iterate on' iterates long-w-1

ask long-w-1 POST /v1/stop '{"fence": 1, "reason": "the case is over"}' >/dev/null
none_runs() { api "/api/v1/namespaces/$namespace/pods?labelSelector=job%3Dlong" | jq -e 'all(.items[]; .status.phase != "Running")' >/dev/null; }
expect 'stopped, every pod ends' wait_until 60 'no pod of it runs' none_runs
