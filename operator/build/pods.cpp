#include "operator/build/pods.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace emj {
namespace {

using nlohmann::json;
namespace names = empi::names;

constexpr const char* image_folder = "/opt/elastic-mpi-image";  // agent, sidecar and libraries in our image
constexpr const char* runtime_folder = "/opt/elastic-mpi";  // agent and libraries in the worker's container
constexpr const char* run_folder = "/run/elastic-mpi";      // pages, socket and PMIx files, in memory
constexpr const char* token_folder = "/var/run/secrets/elasticmpi.io";
constexpr int window_millis = 1000;  // agents' measuring windows; the operator joins them to longer ones
constexpr int unreachable_seconds = 30;
constexpr int grace_margin_seconds = 30;
constexpr int unprivileged_id = 65532;

json selector_labels(const ElasticMPIJob& job) {
  return {{label_job, job.metadata.name}, {label_role, "worker"}};
}

json common_labels(const ElasticMPIJob& job) {
  return {{label_job, job.metadata.name}, {"app.kubernetes.io/managed-by", "elastic-mpi-operator"}};
}

json owner_references(const ElasticMPIJob& job) {
  return json::array({{{"apiVersion", api_version},
                       {"kind", job_kind},
                       {"name", job.metadata.name},
                       {"uid", job.metadata.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

json object_metadata(const ElasticMPIJob& job, const std::string& name) {
  return {{"name", name},
          {"namespace", job.metadata.namespace_name},
          {"labels", common_labels(job)},
          {"ownerReferences", owner_references(job)}};
}

// What the user said stays, what he did not say is filled in.
void fill(json& object, const json& defaults) {
  if (!object.is_object()) object = json::object();
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

json agent_environment(const ElasticMPIJob& job, const std::string& pod) {
  const auto plain = [](const char* name, const std::string& value) -> json {
    return {{"name", name}, {"value", value}};
  };
  return json::array({
      plain(names::kJobName, job.metadata.name),
      plain(names::kJobNamespace, job.metadata.namespace_name),
      plain(names::kJobUid, job.metadata.uid),
      plain(names::kPodName, pod),
      from_field(names::kPodUid, "metadata.uid"),
      from_field(names::kPodAddress, "status.podIP"),
      plain(names::kAgentPort, std::to_string(agent_port)),
      plain(names::kSidecarPort, std::to_string(metrics_port)),
      plain(names::kSlots, std::to_string(job.spec.slots_per_worker)),
      plain(names::kTokenFile, std::string(token_folder) + "/token"),
      plain(names::kMode, job.spec.runtime.mode == RuntimeMode::Rigid ? "rigid" : "malleable"),
      plain(names::kRunDir, run_folder),
      plain(names::kWindowMillis, std::to_string(window_millis)),
  });
}

// The user's variables first, except those that are the agent's own.
json merged_environment(const json& users, const json& ours) {
  std::set<std::string> reserved;
  for (const json& entry : ours) reserved.insert(entry["name"].get<std::string>());
  json merged = json::array();
  for (const json& entry : users)
    if (!reserved.contains(entry.value("name", std::string()))) merged.push_back(entry);
  for (const json& entry : ours) merged.push_back(entry);
  return merged;
}

void append(json& list, const json& more) {
  if (!list.is_array()) list = json::array();
  for (const json& entry : more) list.push_back(entry);
}

void build_worker(const ElasticMPIJob& job, const std::string& pod, json& container) {
  json command = {std::string(runtime_folder) + "/bin/elastic-mpi-agent", "--"};
  append(command, container.at("command"));
  container["command"] = command;
  container["env"] = merged_environment(container.value("env", json::array()), agent_environment(job, pod));
  append(container["volumeMounts"],
         json::array({mount("elastic-mpi-runtime", runtime_folder, true),
                      mount("elastic-mpi-run", run_folder), mount("elastic-mpi-shm", "/dev/shm"),
                      mount("elastic-mpi-tmp", "/tmp"), mount("elastic-mpi-token", token_folder, true)}));
  append(container["ports"], json::array({{{"name", "agent"}, {"containerPort", agent_port}}}));
  fill(container["securityContext"], container_security());
  // CPU requests without limits: throttling costs a busy-polling MPI program up to 78 times its run time.
  fill(container["resources"], {{"requests", {{"cpu", std::to_string(job.spec.slots_per_worker)}}}});
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  container["readinessProbe"] = {{"httpGet", {{"path", "/v1/healthz"}, {"port", agent_port}}},
                                 {"periodSeconds", 1},
                                 {"failureThreshold", 3}};
}

// A native sidecar: starts before the worker, ends after it, and does not keep the pod alive. It also brings
// the runtime to the worker's image: a pod waits for the hook of one container before it starts the next,
// which costs less than a container of its own for the copying.
json build_sidecar(const ElasticMPIJob& job, const std::string& pod, const BuildOptions& options) {
  const std::string programs = std::string(image_folder) + "/bin/";
  return {{"name", "elastic-mpi-sidecar"},
          {"image", options.runtime_image},
          {"restartPolicy", "Always"},
          {"command", json::array({programs + "elastic-mpi-sidecar"})},
          {"lifecycle",
           {{"postStart", {{"exec", {{"command", json::array({programs + "install", runtime_folder})}}}}}}},
          {"env", agent_environment(job, pod)},
          {"ports", json::array({{{"name", "metrics"}, {"containerPort", metrics_port}}})},
          {"volumeMounts", json::array({mount("elastic-mpi-runtime", runtime_folder),
                                        mount("elastic-mpi-run", run_folder, true),
                                        mount("elastic-mpi-token", token_folder, true)})},
          {"securityContext", container_security()},
          {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}}}};
}

// A worker on a node that is gone is a lost member: waiting the usual five minutes helps nobody.
void add_tolerations(json& tolerations) {
  if (!tolerations.is_array()) tolerations = json::array();
  for (const char* key : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    const bool given = std::any_of(tolerations.begin(), tolerations.end(), [&](const json& entry) {
      return entry.value("key", std::string()) == key;
    });
    if (!given)
      tolerations.push_back({{"key", key},
                             {"operator", "Exists"},
                             {"effect", "NoExecute"},
                             {"tolerationSeconds", unreachable_seconds}});
  }
}

void build_pod_spec(const ElasticMPIJob& job, const std::string& pod, const BuildOptions& options,
                    json& spec) {
  build_worker(job, pod, spec["containers"][0]);
  json first = json::array({build_sidecar(job, pod, options)});
  append(first, spec.value("initContainers", json::array()));
  spec["initContainers"] = first;
  append(spec["volumes"],
         json::array(
             {{{"name", "elastic-mpi-runtime"}, {"emptyDir", json::object()}},
              memory_volume("elastic-mpi-run"),
              memory_volume("elastic-mpi-shm"),
              {{"name", "elastic-mpi-tmp"}, {"emptyDir", json::object()}},
              {{"name", "elastic-mpi-token"},
               {"secret", {{"secretName", token_secret_name(job.metadata.name)}, {"defaultMode", 0440}}}}}));
  spec["restartPolicy"] = "Never";
  spec["hostname"] = pod;
  spec["subdomain"] = service_name(job.metadata.name);
  spec["automountServiceAccountToken"] = false;
  spec["enableServiceLinks"] = false;
  if (!job.spec.scheduling.priority_class_name.empty())
    spec["priorityClassName"] = job.spec.scheduling.priority_class_name;
  fill(spec,
       {{"terminationGracePeriodSeconds", job.spec.resize.prepare_timeout.count() + grace_margin_seconds}});
  fill(spec["securityContext"], {{"runAsNonRoot", true},
                                 {"runAsUser", unprivileged_id},
                                 {"runAsGroup", unprivileged_id},
                                 {"fsGroup", unprivileged_id},
                                 {"seccompProfile", {{"type", "RuntimeDefault"}}}});
  add_tolerations(spec["tolerations"]);
}

}  // namespace

std::string service_name(const std::string& job) { return job + "-workers"; }
std::string token_secret_name(const std::string& job) { return job + "-token"; }

json build_pod(const ElasticMPIJob& job, int index, const BuildOptions& options) {
  const std::string name = worker_name(job.metadata.name, index);
  const json document = json::parse(job.spec.worker.pod.document);
  json metadata = document.value("metadata", json::object());
  metadata["name"] = name;
  metadata["namespace"] = job.metadata.namespace_name;
  metadata["ownerReferences"] = owner_references(job);
  metadata["labels"].update(common_labels(job));
  metadata["labels"].update(selector_labels(job));
  metadata["labels"][label_index] = std::to_string(index);
  json spec = document.value("spec", json::object());
  build_pod_spec(job, name, options, spec);
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}};
}

json build_service(const ElasticMPIJob& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object_metadata(job, service_name(job.metadata.name))},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", selector_labels(job)},
            {"ports", json::array({{{"name", "agent"}, {"port", agent_port}},
                                   {{"name", "metrics"}, {"port", metrics_port}}})}}}};
}

json build_token_secret(const ElasticMPIJob& job, const std::string& token) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", object_metadata(job, token_secret_name(job.metadata.name))},
          {"type", "Opaque"},
          {"stringData", {{"token", token}}}};
}

json build_network_policy(const ElasticMPIJob& job, const BuildOptions& options) {
  if (job.spec.network.policy == NetworkPolicyMode::None) return nullptr;
  const auto in_namespace = [](const std::string& name) -> json {
    return {{"matchLabels", {{"kubernetes.io/metadata.name", name}}}};
  };
  const auto tcp = [](int port) -> json { return json::array({{{"protocol", "TCP"}, {"port", port}}}); };
  const json same_job = {{"podSelector", {{"matchLabels", selector_labels(job)}}}};
  const json from_operator = {
      {"namespaceSelector", in_namespace(options.operator_namespace)},
      {"podSelector", {{"matchLabels", {{"app.kubernetes.io/name", "elastic-mpi-operator"}}}}}};
  const json from_prometheus = {{"namespaceSelector", in_namespace(options.prometheus_namespace)}};
  const json to_dns = {{"namespaceSelector", in_namespace("kube-system")}};
  return {
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "NetworkPolicy"},
      {"metadata", object_metadata(job, job.metadata.name + "-workers")},
      {"spec",
       {{"podSelector", {{"matchLabels", selector_labels(job)}}},
        {"policyTypes", json::array({"Ingress", "Egress"})},
        {"ingress", json::array({{{"from", json::array({same_job})}},
                                 {{"from", json::array({from_operator})}, {"ports", tcp(agent_port)}},
                                 {{"from", json::array({from_prometheus})}, {"ports", tcp(metrics_port)}}})},
        {"egress", json::array({{{"to", json::array({same_job})}},
                                {{"to", json::array({to_dns})},
                                 {"ports", json::array({{{"protocol", "UDP"}, {"port", 53}},
                                                        {{"protocol", "TCP"}, {"port", 53}}})}}})}}}};
}

}  // namespace emj
