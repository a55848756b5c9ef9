# SPDX-License-Identifier: Apache-2.0
# Manifests that somebody might write, one a line: any JSON at any place of a job's manifest, mostly of its pod template:
# of another type, which the schema refuses, or another value of the same type, which it mostly takes. The same for the same seed; operator/api/testing/random_json.hpp does the
# same for the tests without a server.
# Usage: jq -nc --argjson count N --argjson seed S --arg namespace NAMESPACE -f bad_manifests.jq

# Lehmer's generator: its products are exact in a double.
def next: . * 16807 % 2147483647;
def numbers($seed; $count): [limit($count; $seed | next | next | recurse(next))];
def at($list; $number): $list[$number % ($list | length)];

def plain: [null, true, false, 0, -1, 7, -9223372036854775808, 18446744073709551615, 1e300, -0.5, "", "gpu", "3", "no-such",
  "$(A)", "a b\nc", "\u0000", "ä→\u202e", ("x" * 300), [], {}];
def keys_of_people: ["key", "name", "labels", "value", "spec", "cpu", "foo", "", "a/b/c", "elasticmpi.io/job-name"];
# Of three numbers: something plain, or that in a list, an object, or both.
def any_value($a; $b; $c): at(plain; $a) as $x | at(plain; $b) as $y | at(keys_of_people; $c) as $key |
  at([$x, $x, $x, [$x], [$x, $y], {($key): $x}, {($key): [$x]}, [{($key): $x}, $y], {($key): {name: $y}}]; $c);

def alike($type; $a): at(plain | map(select(type == $type)); $a);

# Of seven numbers: somewhere below $within stands something else than before, or something besides, or nothing.
def spoil($within; $n):
  ([paths | select(.[:($within | length)] == $within)]) as $places | at($places; $n[0]) as $place
  | (getpath($place) | type) as $type
  | (if $n[6] % 6 == 0 then any_value($n[1]; $n[2]; $n[3]) else alike($type; $n[1]) end) as $value
  | if $type == "object" and $n[4] % 3 == 0 then setpath($place + [at(keys_of_people; $n[5])]; $value)
    elif $type == "array" and $n[4] % 3 == 0 then setpath($place; getpath($place) + [$value])
    elif $n[4] % 12 == 1 then delpaths([$place])
    else setpath($place; $value) end;

# Nobody has such a node: what is taken makes pods that cost nothing.
def manifest($name): {
  apiVersion: "elasticmpi.io/v1alpha1", kind: "ElasticMPIJob",
  metadata: {name: $name, namespace: $namespace, labels: {a: "b"}, annotations: {c: "d"}},
  spec: {
    slotsPerWorker: 2, suspend: false, managedBy: "elasticmpi.io/operator",
    worker: {replicas: 1, minReplicas: 1, maxReplicas: 4, template: {
      metadata: {labels: {team: "waves"}, annotations: {note: "x"}},
      spec: {
        restartPolicy: "Never", nodeSelector: {"kubernetes.io/hostname": "nowhere"}, schedulerName: "default-scheduler",
        tolerations: [{key: "spot", operator: "Exists", effect: "NoSchedule"}],
        initContainers: [{name: "fetch", image: "localhost/none", command: ["true"], env: [{name: "A", value: "1"}],
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}],
        volumes: [{name: "v", emptyDir: {sizeLimit: "1Gi"}}, {name: "w", configMap: {name: "c", items: [{key: "k", path: "p"}]}}],
        securityContext: {runAsUser: 1, seccompProfile: {type: "RuntimeDefault"}, supplementalGroups: [1], sysctls: []},
        imagePullSecrets: [{name: "s"}], terminationGracePeriodSeconds: 7, activeDeadlineSeconds: 600,
        affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
          {matchExpressions: [{key: "disk", operator: "In", values: ["ssd"]}]}]}}},
        topologySpreadConstraints: [{maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: {matchLabels: {team: "waves"}}}],
        hostAliases: [{ip: "10.0.0.1", hostnames: ["h"]}], dnsPolicy: "None", dnsConfig: {nameservers: ["10.0.0.1"],
          options: [{name: "ndots", value: "2"}]}, readinessGates: [], hostname: "h", subdomain: "s",
        containers: [{
          name: "worker", image: "localhost/none", imagePullPolicy: "Never", command: ["program"], args: ["a"], workingDir: "/",
          env: [{name: "A", value: "1"}, {name: "B", valueFrom: {fieldRef: {fieldPath: "metadata.name"}}}],
          envFrom: [{configMapRef: {name: "c", optional: true}}],
          resources: {requests: {cpu: "10m", memory: "1Mi"}, limits: {memory: "2Gi"}, claims: []},
          volumeMounts: [{name: "v", mountPath: "/v"}], ports: [{name: "p", containerPort: 1}],
          livenessProbe: {httpGet: {path: "/", port: 1}, periodSeconds: 5},
          lifecycle: {preStop: {exec: {command: ["true"]}}}, stdin: false, terminationMessagePath: "/dev/termination-log",
          securityContext: {capabilities: {drop: ["ALL"]}, runAsNonRoot: true}}]}}},
    resize: {allowedReplicas: [1, 2, 4], stepSize: 1, joinTimeoutSeconds: 300},
    autoscaling: {mode: "Auto", policy: {name: "threshold", threshold: {lowPercent: 5}}},
    runPolicy: {backoffLimit: 1, activeDeadlineSeconds: 600, cleanPodPolicy: "Running"},
    scheduling: {priorityClassName: ""}, network: {policy: "None"}}};

range($count) as $i
| numbers($seed + $i * 7919; 24) as $n
| (["spec", "worker", "template"]) as $template
| at([[], ["spec"], $template, $template + ["spec"], $template + ["spec"], $template + ["spec", "containers", 0]]; $n[0]) as $within
| manifest("bad-\($i)")
| reduce range($n[1] % 3 + 1) as $k (.; spoil($within | if $k == 0 then . else [] end; $n[(2 + 7 * $k):]))
