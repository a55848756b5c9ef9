// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/pods.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"
#include "operator/api/requests.hpp"
#include "operator/objects/metadata.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using nlohmann::json;
namespace names = empi::names;

constexpr const char* kImageFolder = "/opt/elastic-mpi-image";  // agent, sidecar and libraries in our image
constexpr const char* kRuntimeFolder = "/opt/elastic-mpi";  // agent and libraries in the worker's container
constexpr const char* kRunFolder = "/run/elastic-mpi";      // pages, socket and PMIx files, in memory
constexpr const char* kCheckpointFolder = "/var/lib/elastic-mpi/checkpoints";
constexpr const char* kTokenFolder = "/var/run/secrets/elasticmpi.io";
constexpr const char* kTlsFolder = "/var/run/secrets/elasticmpi.io-tls";
constexpr int kWindowMillis = 1000;  // agents' measuring windows; the operator joins them to longer ones
constexpr int kUnreachableSeconds = 30;
constexpr int kGraceMarginSeconds = 30;

// The template is the user's, and any of its fields may be any JSON. What has another type than it should is
// left as it is: the server then refuses the pod and says why.
bool is_object_now(json& value) {
  if (value.is_null()) value = json::object();
  return value.is_object();
}

bool is_list_now(json& value) {
  if (value.is_null()) value = json::array();
  return value.is_array();
}

bool has_text(const json& object, const char* name, const std::string& text) {
  const json& value = member(object, name);
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

// What the manifest says stays, what it leaves open is filled in.
void fill(json& object, const json& defaults) {
  if (!is_object_now(object)) return;
  for (const auto& [key, value] : defaults.items()) {
    if (!object.contains(key))
      object[key] = value;
    else if (value.is_object() && object[key].is_object())
      fill(object[key], value);
  }
}

json mount(const char* volume, const char* path, bool read_only = false) {
  json entry = {{"name", volume}, {"mountPath", path}};
  if (read_only) entry["readOnly"] = true;
  return entry;
}

json memory_volume(const char* name) { return {{"name", name}, {"emptyDir", {{"medium", "Memory"}}}}; }

// Pod Security "restricted", and a root file system that cannot be written.
json container_security() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", json::array({"ALL"})}}}};
}

json from_field(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// Where the volume of checkpoints is in the worker's container.
std::string checkpoint_volume(const CheckpointSpec& checkpoint) {
  return checkpoint.volume_claim.empty() ? checkpoint.path : kCheckpointFolder;
}

json checkpoint_environment(const ElasticMPIJob& job) {
  json variables = json::array();
  if (!job.spec.checkpoint) return variables;
  const CheckpointSpec& checkpoint = *job.spec.checkpoint;
  const auto add = [&](const char* name, const std::string& value) {
    variables.push_back({{"name", name}, {"value", value}});
  };
  // A volume may be that of several jobs.
  add(names::kCheckpointDir, checkpoint_volume(checkpoint) + "/" + job.metadata.name);
  add(names::kCheckpointKeep, std::to_string(checkpoint.keep));
  add(names::kCheckpointMtbfHours, std::to_string(checkpoint.mtbf_hours));
  if (checkpoint.every) add(names::kCheckpointSeconds, std::to_string(checkpoint.every->count()));
  return variables;
}

json restart_environment(const ElasticMPIJob& job) {
  const std::string notice = restart_notice(job.spec.runtime);
  if (notice.empty()) return json::array();
  return json::array({{{"name", names::kRestartNotice}, {"value", notice}}});
}

json agent_environment(const ElasticMPIJob& job, const std::string& pod) {
  const auto plain = [](const char* name, const std::string& value) -> json {
    return {{"name", name}, {"value", value}};
  };
  json variables = json::array({
      plain(names::kJobName, job.metadata.name),
      plain(names::kJobNamespace, job.metadata.namespace_name),
      plain(names::kJobUid, job.metadata.uid),
      plain(names::kPodName, pod),
      from_field(names::kPodUid, "metadata.uid"),
      from_field(names::kPodAddress, "status.podIP"),
      from_field(names::kNodeName, "spec.nodeName"),
      plain(names::kAgentPort, std::to_string(kAgentPort)),
      plain(names::kSidecarPort, std::to_string(kMetricsPort)),
      plain(names::kSlots, std::to_string(job.spec.slots_per_worker)),
      plain(names::kMinWorkers, std::to_string(job.spec.worker.min_replicas)),
      plain(names::kTokenFile, std::string(kTokenFolder) + "/token"),
      plain(names::kMode, is_malleable(job.spec.runtime) ? "malleable" : "rigid"),
      plain(names::kRunDir, kRunFolder),
      plain(names::kWindowMillis, std::to_string(kWindowMillis)),
  });
  if (job.status.mutual_tls) {
    variables.push_back(plain(names::kTlsDir, kTlsFolder));
    variables.push_back(plain(names::kReportPort, std::to_string(kReportPort)));
  }
  return variables;
}

// A rank that waits for a message polls. Where it is not promised a processor it keeps others from that.
json processors(const ElasticMPIJob& job, const json& container) {
  const double slots = job.spec.slots_per_worker;
  const bool shared = request_of(container, "cpu").value_or(slots) < slots;
  return {{"name", names::kSharedProcessors}, {"value", shared ? "yes" : "no"}};
}

// The user's variables first, except those that are the agent's own.
void merge_environment(json& users, const json& ours) {
  if (!is_list_now(users)) return;
  json merged = json::array();
  for (const json& entry : users)
    if (std::ranges::none_of(ours, [&](const json& own) { return own["name"] == member(entry, "name"); }))
      merged.push_back(entry);
  for (const json& entry : ours) merged.push_back(entry);
  users = std::move(merged);
}

void append(json& list, const json& more) {
  if (!is_list_now(list)) return;
  for (const json& entry : more) list.push_back(entry);
}

bool is_mounted(const json& mounts, std::string path) {
  return mounts.is_array() && std::ranges::any_of(mounts, [&](const json& entry) {
           return has_text(entry, "mountPath", path) || has_text(entry, "mountPath", path + "/");
         });
}

// `cpu_is_said`: by the template, of the pod as a whole.
void build_worker(const ElasticMPIJob& job, const std::string& pod, bool cpu_is_said, json& container) {
  if (!is_object_now(container)) return;
  cpu_is_said = cpu_is_said || request_of(container, "cpu").has_value();
  json command = {std::string(kRuntimeFolder) + "/bin/elastic-mpi-agent", "--"};
  append(command, member(container, "command"));
  container["command"] = command;
  json environment = agent_environment(job, pod);
  append(environment, checkpoint_environment(job));
  append(environment, restart_environment(job));
  environment.push_back(processors(job, container));
  merge_environment(container["env"], environment);
  json mounts =
      json::array({mount("elastic-mpi-runtime", kRuntimeFolder, true), mount("elastic-mpi-run", kRunFolder),
                   mount("elastic-mpi-token", kTokenFolder, true)});
  if (job.status.mutual_tls) mounts.push_back(mount("elastic-mpi-tls", kTlsFolder, true));
  if (job.spec.checkpoint && !job.spec.checkpoint->volume_claim.empty())
    mounts.push_back(mount("elastic-mpi-checkpoints", kCheckpointFolder));
  // A volume of the user's own at these places wins: a sized /dev/shm, a claim at /tmp.
  for (const json& ours : {mount("elastic-mpi-shm", "/dev/shm"), mount("elastic-mpi-tmp", "/tmp")})
    if (!is_mounted(member(container, "volumeMounts"), ours["mountPath"])) mounts.push_back(ours);
  append(container["volumeMounts"], mounts);
  append(container["ports"], json::array({{{"name", "agent"}, {"containerPort", kAgentPort}}}));
  fill(container["securityContext"], container_security());
  // CPU requests without limits: throttling costs a busy-polling MPI program up to 78 times its run time.
  if (!cpu_is_said)
    fill(container["resources"], {{"requests", {{"cpu", std::to_string(job.spec.slots_per_worker)}}}});
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  container["readinessProbe"] = {{"httpGet", {{"path", "/v1/healthz"}, {"port", kAgentPort}}},
                                 {"periodSeconds", 1},
                                 {"failureThreshold", 3}};
  // The kubelet has no certificate and looks at none: health is for everybody. It is asked of the agent
  // itself, for a sidecar that hangs makes no worker unready.
  if (job.status.mutual_tls) container["readinessProbe"]["httpGet"]["scheme"] = "HTTPS";
}

const std::string& runtime_image(const ElasticMPIJob& job, const BuildOptions& options) {
  return job.status.runtime_image.empty() ? options.runtime_image : job.status.runtime_image;
}

// A native sidecar: starts before the worker, ends after it, and does not keep the pod alive. It also brings
// the runtime to the worker's image: a pod waits for the hook of one container before it starts the next,
// which costs less than a container of its own for the copying.
json build_sidecar(const ElasticMPIJob& job, const std::string& pod, const BuildOptions& options,
                   const json& worker_limits) {
  const std::string programs = std::string(kImageFolder) + "/bin/";
  json sidecar = {
      {"name", kSidecarName},
      {"image", runtime_image(job, options)},
      {"restartPolicy", "Always"},
      {"command", json::array({programs + "elastic-mpi-sidecar"})},
      {"lifecycle",
       {{"postStart", {{"exec", {{"command", json::array({programs + "install", kRuntimeFolder})}}}}}}},
      {"env", agent_environment(job, pod)},
      {"ports", json::array({{{"name", "metrics"}, {"containerPort", kMetricsPort}}})},
      // A program that keeps all processors to itself is no reason: a minute without an answer is a sidecar
      // that hangs. (One that ends is started again by itself.)
      {"livenessProbe",
       {{"httpGet", {{"path", "/healthz"}, {"port", kMetricsPort}}},
        {"periodSeconds", 10},
        {"timeoutSeconds", 5},
        {"failureThreshold", 6}}},
      {"volumeMounts",
       json::array({mount("elastic-mpi-runtime", kRuntimeFolder), mount("elastic-mpi-run", kRunFolder, true),
                    mount("elastic-mpi-token", kTokenFolder, true)})},
      {"securityContext", container_security()},
      {"resources",
       {{"requests",
         {{"cpu", std::to_string(kSidecarMilliCpu) + "m"},
          {"memory", std::to_string(kSidecarMemoryMib) + "Mi"}}}}}};
  if (job.status.mutual_tls) {
    sidecar["ports"].push_back({{"name", "report"}, {"containerPort", kReportPort}});
    sidecar["volumeMounts"].push_back(mount("elastic-mpi-tls", kTlsFolder, true));
  }
  // Where a quota wants limits, the template has them for the worker: then of every container.
  for (const auto& [name, amount] :
       {std::pair{"cpu", options.sidecar_cpu_limit}, std::pair{"memory", options.sidecar_memory_limit}})
    if (!member(worker_limits, name).is_null()) sidecar["resources"]["limits"][name] = amount;
  return sidecar;
}

// A worker on a node that is gone is a lost member: waiting the usual five minutes helps nobody.
void add_tolerations(json& tolerations) {
  if (!is_list_now(tolerations)) return;
  for (const char* key : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    const bool given =
        std::ranges::any_of(tolerations, [&](const json& entry) { return has_text(entry, "key", key); });
    if (!given)
      tolerations.push_back({{"key", key},
                             {"operator", "Exists"},
                             {"effect", "NoExecute"},
                             {"tolerationSeconds", kUnreachableSeconds}});
  }
}

// Each of the template's terms is a way to be placed, so each has to leave these nodes out.
void keep_off(const std::vector<LostNode>& nodes, json& spec) {
  json& affinity = spec["affinity"];
  if (!is_object_now(affinity) || !is_object_now(affinity["nodeAffinity"])) return;
  json& required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!is_object_now(required) || !is_list_now(required["nodeSelectorTerms"])) return;
  json& terms = required["nodeSelectorTerms"];
  json others = json::array();
  for (const LostNode& node : nodes)
    others.push_back({{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", json::array({node.name})}});
  if (terms.empty())
    terms.push_back({{"matchFields", others}});
  else
    for (json& term : terms)
      if (term.is_object() && !term.empty())
        append(term["matchFields"], others);  // an empty one means no node
}

// The first worker that is placed decides for all: one that matches its own term and finds nobody may go
// anywhere (Kubernetes' rule for required affinity).
void keep_together(const ElasticMPIJob& job, json& spec) {
  json& affinity = spec["affinity"];
  if (!is_object_now(affinity) || !is_object_now(affinity["podAffinity"])) return;
  json terms = json::array();
  for (const TopologyConstraint& constraint : job.spec.scheduling.topology)
    terms.push_back(
        {{"labelSelector", {{"matchLabels", selector_labels(job)}}}, {"topologyKey", constraint.key}});
  append(affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"], terms);
}

// The template's own come first: the kubelet tries them all.
void add_pull_secrets(const std::vector<std::string>& names, json& secrets) {
  json ours = json::array();
  for (const std::string& name : names)
    if (!secrets.is_array() ||
        std::ranges::none_of(secrets, [&](const json& entry) { return has_text(entry, "name", name); }))
      ours.push_back({{"name", name}});
  append(secrets, ours);
}

// What the template says of the same labels is the same, or the queue had not admitted the job.
void put_into_pool(const PoolSpec& pool, json& spec) {
  if (!pool.node_selector.empty()) fill(spec["nodeSelector"], pool.node_selector);
  json tolerations = json::array();
  for (const Toleration& toleration : pool.tolerations) {
    json entry = {{"operator", toleration.op.empty() ? "Equal" : toleration.op}};
    for (const auto& [name, value] : {std::pair{"key", toleration.key}, std::pair{"value", toleration.value},
                                      std::pair{"effect", toleration.effect}})
      if (!value.empty()) entry[name] = value;
    tolerations.push_back(std::move(entry));
  }
  if (!tolerations.empty()) append(spec["tolerations"], tolerations);
}

void build_pod_spec(const ElasticMPIJob& job, int index, const std::string& pod, const BuildOptions& options,
                    json& spec) {
  const bool cpu_is_said = request_of(spec, "cpu").has_value();
  if (json& containers = spec["containers"]; is_list_now(containers))
    build_worker(job, pod, cpu_is_said, containers[0]);
  const json& containers = spec["containers"];
  const json limits = containers.is_array() ? member(member(containers[0], "resources"), "limits") : json();
  if (json& first = spec["initContainers"]; is_list_now(first))
    first.insert(first.begin(), build_sidecar(job, pod, options, limits));
  append(spec["volumes"],
         json::array(
             {{{"name", "elastic-mpi-runtime"}, {"emptyDir", json::object()}},
              memory_volume("elastic-mpi-run"),
              memory_volume("elastic-mpi-shm"),
              {{"name", "elastic-mpi-tmp"}, {"emptyDir", json::object()}},
              {{"name", "elastic-mpi-token"},
               {"secret", {{"secretName", token_secret_name(job.metadata.name)}, {"defaultMode", 0440}}}}}));
  if (job.status.mutual_tls) {  // of the Secret of 200 its own entry
    const json items = json::array({{{"key", certificate_key(index)}, {"path", "identity.pem"}},
                                    {{"key", kAuthoritiesFile}, {"path", kAuthoritiesFile}}});
    append(spec["volumes"], json::array({{{"name", "elastic-mpi-tls"},
                                          {"secret",
                                           {{"secretName", certificate_secret_name(job.metadata.name, index)},
                                            {"defaultMode", 0440},
                                            {"items", items}}}}}));
  }
  if (job.spec.checkpoint && !job.spec.checkpoint->volume_claim.empty())
    append(spec["volumes"],
           json::array({{{"name", "elastic-mpi-checkpoints"},
                         {"persistentVolumeClaim", {{"claimName", job.spec.checkpoint->volume_claim}}}}}));
  spec["restartPolicy"] = "Never";
  spec["hostname"] = pod;
  spec["subdomain"] = service_name(job.metadata.name);
  spec["automountServiceAccountToken"] = false;
  spec["enableServiceLinks"] = false;
  if (!job.spec.scheduling.priority_class_name.empty())
    spec["priorityClassName"] = job.spec.scheduling.priority_class_name;
  fill(spec,
       {{"terminationGracePeriodSeconds", job.spec.resize.prepare_timeout.count() + kGraceMarginSeconds}});
  json security = {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  if (options.worker_user > 0)
    for (const char* name : {"runAsUser", "runAsGroup", "fsGroup"}) security[name] = options.worker_user;
  fill(spec["securityContext"], security);
  add_tolerations(spec["tolerations"]);
  if (!job.status.lost_nodes.empty()) keep_off(job.status.lost_nodes, spec);
  if (!job.spec.scheduling.topology.empty()) keep_together(job, spec);
  if (!options.pull_secrets.empty()) add_pull_secrets(options.pull_secrets, spec["imagePullSecrets"]);
}

}  // namespace

std::string restart_notice(const RuntimeSpec& runtime) {
  if (!runtime.restart) return "";
  const RestartSpec& restart = *runtime.restart;
  json notice;
  if (!restart.signal.empty()) notice["signal"] = restart.signal;
  if (!restart.file.empty()) notice["file"] = restart.file;
  if (!restart.command.empty()) notice["command"] = restart.command;
  return empi::json_text::text(notice);
}

json build_pod(const ElasticMPIJob& job, int index, const BuildOptions& options, const PoolSpec* pool) {
  const std::string name = worker_name(job.metadata.name, index);
  const json document = empi::json_text::parse(job.spec.worker.pod.document);
  json metadata = member(document, "metadata");
  if (!metadata.is_object()) metadata = json::object();
  metadata["name"] = name;
  metadata["namespace"] = job.metadata.namespace_name;
  metadata["ownerReferences"] = owner_references(job);
  if (json& labels = metadata["labels"]; is_object_now(labels)) {
    labels.update(common_labels(job));
    labels.update(selector_labels(job));
    labels[kLabelIndex] = std::to_string(index);
    // What the queue counts by, also when the job is gone: nobody's template says that.
    labels.erase(kLabelQueue);
    labels.erase(kLabelPool);
    if (pool) {
      labels[kLabelQueue] = job.spec.scheduling.queue_name;
      labels[kLabelPool] = pool->name;
    }
  }
  json spec = member(document, "spec");
  if (!spec.is_object()) spec = json::object();
  if (pool) put_into_pool(*pool, spec);
  build_pod_spec(job, index, name, options, spec);
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}};
}

}  // namespace emj
