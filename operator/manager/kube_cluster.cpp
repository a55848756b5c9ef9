#include "operator/manager/kube_cluster.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/manager/pod_view.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
namespace resources = kube::resources;
using Kind = kube::ApiError::Kind;

// A change of size does not look at the job's other objects again, unless it was long ago: a user may have
// deleted one since.
constexpr Seconds children_trusted{600};

kube::ObjectKey object_key(const JobKey& key) { return {key.namespace_name, key.name}; }

Outcome outcome_of(const kube::ApiError& error) {
  switch (error.kind) {
    case Kind::Conflict:
    case Kind::AlreadyExists:
      return {Outcome::Kind::Conflict, error.message};
    case Kind::Invalid:
      return Outcome::refused(error.message);
    default:
      return Outcome::retry(error.message);
  }
}

bool asked(const ElasticMPIJob& job, const char* annotation) {
  const auto found = job.metadata.annotations.find(annotation);
  return found != job.metadata.annotations.end() && !found->second.empty() && found->second != "false";
}

}  // namespace

KubeCluster::KubeCluster(kube::Client& client, kube::Informer& jobs, kube::Informer& pods,
                         kube::EventRecorder& events, RootKey& root_key, BuildOptions build, Log log)
    : client_(client),
      jobs_(jobs),
      pods_(pods),
      events_(events),
      root_key_(root_key),
      build_(std::move(build)),
      log_(std::move(log)) {}

bool KubeCluster::settled(const JobKey& key) {
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  if (!job) return true;
  const std::string uid = kube::uid_of(*job);
  return jobs_.settled(uid) && pods_.settled(uid);
}

Millis KubeCluster::settled_in(const JobKey& key) {
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  if (!job) return Millis(0);
  const std::string uid = kube::uid_of(*job);
  const auto at = std::max(jobs_.settled_by(uid), pods_.settled_by(uid));
  return std::chrono::ceil<Millis>(
      std::max(at - kube::Instant::clock::now(), kube::Instant::duration::zero()));
}

std::optional<JobRecord> KubeCluster::read_job(const JobKey& key) {
  const kube::ObjectPtr object = jobs_.get(object_key(key));
  if (!object) return std::nullopt;
  const Result<ElasticMPIJob> job = parse_json(*object, to_string(object_key(key)));
  if (!job) {
    // The schema lets nothing through that we cannot read, unless it is of another version than we are.
    const std::lock_guard lock(mutex_);
    const std::string version = kube::resource_version_of(*object);
    if (std::exchange(unreadable_[key], version) != version)
      log_("cannot read job " + to_string(object_key(key)) + ", it is left alone: " + job.message());
    return std::nullopt;
  }
  std::string invalid;
  for (const Violation& violation : validate_for_cluster(job.value()))
    invalid += (invalid.empty() ? "" : "; ") + to_string(violation);
  return JobRecord{job.value(), asked(job.value(), annotation_cancel), asked(job.value(), annotation_resume),
                   invalid};
}

Outcome KubeCluster::write_status(const JobKey& key, const JobStatus& status) {
  const kube::ObjectPtr object = jobs_.get(object_key(key));
  if (!object) return Outcome::retry("the job is gone");
  json changed = *object;  // with its resourceVersion: this write is a compare-and-swap
  changed["status"] = status_to_json(status);
  const auto answer =
      client_.update(resources::elastic_mpi_jobs, object_key(key), changed, {.subresource = "status"});
  if (!answer && answer.error().kind == Kind::Conflict) jobs_.outdated(kube::uid_of(*object), *object);
  if (!answer) return outcome_of(answer.error());
  jobs_.wrote(kube::uid_of(*object), answer.value());
  return Outcome::done();
}

Outcome KubeCluster::write_scale(const JobKey& key, int replicas) {
  const auto answer =
      client_.merge_patch(resources::elastic_mpi_jobs, object_key(key), {{"spec", {{"replicas", replicas}}}},
                          {.subresource = "scale", .field_manager = manager_of_scale});
  if (!answer) return outcome_of(answer.error());
  jobs_.wrote(kube::uid_of(answer.value()), answer.value());
  return Outcome::done();
}

Outcome KubeCluster::clear_resume(const JobKey& key) {
  const json patch = {{"metadata", {{"annotations", {{annotation_resume, nullptr}}}}}};
  const auto answer = client_.merge_patch(resources::elastic_mpi_jobs, object_key(key), patch);
  if (!answer) return outcome_of(answer.error());
  jobs_.wrote(kube::uid_of(answer.value()), answer.value());
  return Outcome::done();
}

std::vector<PodView> KubeCluster::list_pods(const JobKey& key) {
  std::vector<PodView> views;
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  if (!job) return views;
  for (const kube::ObjectPtr& pod : pods_.owned_by(kube::uid_of(*job))) {
    PodView view = to_pod_view(*pod, key.name);
    if (view.index >= 0) views.push_back(std::move(view));
  }
  std::sort(views.begin(), views.end(), [](const PodView& a, const PodView& b) { return a.index < b.index; });
  return views;
}

Outcome KubeCluster::ensure_children(const JobKey& key, const ElasticMPIJob& job, const json& pod) {
  const std::string made_from = job.metadata.uid + "/" + root_key_.version() + "/" +
                                to_string(job.spec.network.policy) + "/" +
                                std::to_string(std::hash<std::string>{}(job.spec.worker.pod.document));
  const kube::Instant now = kube::Instant::clock::now();
  bool tried_before = false;
  {
    const std::lock_guard lock(mutex_);
    const auto known = ensured_.find(key);
    tried_before = known != ensured_.end() && known->second.made_from == made_from;
    if (tried_before && now - known->second.at < children_trusted) return Outcome::done();
  }
  // Nothing is made for a template that the server would refuse.
  if (!tried_before) {
    const auto tried = client_.create(resources::pods, key.namespace_name, pod, {.dry_run = true});
    if (!tried && tried.error().kind != Kind::AlreadyExists) return outcome_of(tried.error());
  }
  const auto apply = [&](const kube::Resource& resource, const json& object) -> Outcome {
    if (object.is_null()) return Outcome::done();
    const kube::ObjectKey name{key.namespace_name, object.at("metadata").at("name")};
    const auto answer = client_.apply(
        resource, name, object, {.subresource = {}, .field_manager = manager_of_children, .force = true});
    return answer ? Outcome::done() : outcome_of(answer.error());
  };
  for (const auto& [resource, object] :
       {std::pair{&resources::secrets, build_token_secret(job, root_key_.token_file(job.metadata.uid))},
        std::pair{&resources::services, build_service(job)},
        std::pair{&resources::network_policies, build_network_policy(job, build_)}}) {
    const Outcome outcome = apply(*resource, object);
    if (!outcome.ok()) return Outcome::retry("making " + resource->kind + ": " + outcome.message);
  }
  const std::lock_guard lock(mutex_);
  ensured_[key] = {made_from, now};
  return Outcome::done();
}

Outcome KubeCluster::create_pod(const JobKey& key, const json& pod) {
  const auto record = read_job(key);
  if (!record) return Outcome::retry("the job is gone");
  const Outcome ready = ensure_children(key, record->job, pod);
  if (!ready.ok()) return ready;
  const std::string& uid = record->job.metadata.uid;
  auto answer = client_.create(resources::pods, key.namespace_name, pod);
  if (!answer && answer.error().kind == Kind::AlreadyExists) {
    const kube::ObjectKey name{key.namespace_name, pod.at("metadata").at("name")};
    answer = client_.get(resources::pods, name);
    if (answer && kube::controller_uid_of(answer.value()) != uid)
      return Outcome::retry("pod " + name.name +
                            " exists already and is not of this job: delete it, or name the " +
                            "job differently");
  }
  if (!answer) return outcome_of(answer.error());
  reduce_pod(answer.value());
  pods_.wrote(uid, answer.value());
  return Outcome::done();
}

Outcome KubeCluster::delete_pod(const JobKey& key, const DeletePod& pod) {
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  const std::string owner = job ? kube::uid_of(*job) : std::string();
  const kube::ObjectKey name{key.namespace_name, pod.name};
  kube::DeleteOptions options;
  options.uid = pod.uid;
  const auto answer = client_.remove(resources::pods, name, options);
  // Gone, or another pod has its name: both mean that ours is not there any more.
  const bool gone =
      !answer && (answer.error().kind == Kind::NotFound || answer.error().kind == Kind::Conflict);
  if (!answer && !gone) return outcome_of(answer.error());
  pods_.deleted(owner, name, pod.uid);
  return Outcome::done();
}

Outcome KubeCluster::delete_job(const JobKey& key, const std::string& uid) {
  kube::DeleteOptions options;
  options.uid = uid;
  const auto answer = client_.remove(resources::elastic_mpi_jobs, object_key(key), options);
  const bool gone =
      !answer && (answer.error().kind == Kind::NotFound || answer.error().kind == Kind::Conflict);
  return answer || gone ? Outcome::done() : outcome_of(answer.error());
}

void KubeCluster::record_event(const JobKey& key, const RecordEvent& event) {
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  log_(to_string(object_key(key)) + ": " + event.reason + ": " + event.message);
  if (!job) return;
  events_.record({.regarding = *job,
                  .warning = event.warning,
                  .reason = event.reason,
                  .action = {},
                  .note = event.message});
}

void KubeCluster::forget(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  ensured_.erase(key);
  unreadable_.erase(key);
}

}  // namespace emj::manager
