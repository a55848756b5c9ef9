// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/kube_cluster.hpp"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "operator/api/parse.hpp"
#include "operator/kube/outcome.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/kube/unreadable.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
namespace resources = kube::resources;
using Kind = kube::ApiError::Kind;

constexpr std::size_t kPodsAtOnce = 8;

kube::ObjectKey object_key(const JobKey& key) { return {key.namespace_name, key.name}; }

Outcome changed_since() { return {Outcome::Kind::Conflict, "the job is another one by now, or was changed"}; }

bool asked(const ElasticMPIJob& job, const char* annotation) {
  const auto found = job.metadata.annotations.find(annotation);
  return found != job.metadata.annotations.end() && found->second == "true";
}

// The grace of a pod is for a planned leave (operator/objects/pods.cpp). Where there is no run to leave
// nobody plans one: an agent that could not be told to end would wait for it until the grace is over.
constexpr int kGraceWithoutRun = 30;  // s, Kubernetes' own
bool has_no_run(DeleteReason reason) {
  return reason == DeleteReason::JobEnded || reason == DeleteReason::Suspended;
}
bool has_grace_of_its_own(const json& job) {
  return job.contains(json::json_pointer("/spec/worker/template/spec/terminationGracePeriodSeconds"));
}

}  // namespace

KubeCluster::KubeCluster(kube::Client& client, kube::Informer& jobs, kube::Informer& pods,
                         kube::EventRecorder& events, RootKey& root_key, BuildOptions build, Log log,
                         kube::Clock& clock)
    : client_(client),
      jobs_(jobs),
      pods_(pods),
      events_(events),
      root_key_(root_key),
      build_(std::move(build)),
      log_(std::move(log)),
      clock_(clock) {}

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
  return std::chrono::ceil<Millis>(std::max(at - clock_.now(), kube::Instant::duration::zero()));
}

std::optional<JobRecord> KubeCluster::read_job(const JobKey& key) {
  const kube::ObjectPtr object = jobs_.get(object_key(key));
  if (!object) return std::nullopt;
  const Result<ElasticMPIJob> job = parse_stored(*object, to_string(object_key(key)));
  if (!job) {
    // The schema lets nothing through that we cannot read, unless it is of another version than we are.
    JobRecord record;
    record.job.metadata.namespace_name = key.namespace_name;
    record.job.metadata.name = key.name;
    record.job.metadata.uid = kube::uid_of(*object);
    record.job.metadata.resource_version = kube::resource_version_of(*object);
    if (kube::is_being_deleted(*object)) record.job.metadata.deletion_time = Time{};
    record.unreadable = job.message();
    return record;
  }
  std::string invalid;
  for (const Violation& violation : validate_for_cluster(job.value()))
    invalid += (invalid.empty() ? "" : "; ") + to_string(violation);
  return JobRecord{job.value(), asked(job.value(), kAnnotationCancel), asked(job.value(), kAnnotationResume),
                   invalid};
}

kube::ObjectPtr KubeCluster::as_read(const ElasticMPIJob& read) const {
  const kube::ObjectPtr object = jobs_.get({read.metadata.namespace_name, read.metadata.name});
  const bool same = object && kube::uid_of(*object) == read.metadata.uid &&
                    kube::resource_version_of(*object) == read.metadata.resource_version;
  return same ? object : nullptr;
}

Outcome KubeCluster::write_status(const ElasticMPIJob& read, const JobStatus& status) {
  const JobKey key = key_of(read);
  const kube::ObjectPtr object = as_read(read);
  if (!object) return changed_since();
  json changed = *object;  // with its resourceVersion: this write is a compare-and-swap
  changed["status"] = status_to_json(status);
  const auto answer =
      client_.update(resources::kElasticMpiJobs, object_key(key), changed, {.subresource = "status"});
  if (!answer && answer.error().kind == Kind::Conflict) jobs_.outdated(kube::uid_of(*object), *object);
  if (!answer) return outcome_of(answer.error());
  {
    const std::lock_guard lock(mutex_);
    written_[key] = {read.metadata.resource_version, kube::resource_version_of(answer.value())};
  }
  jobs_.wrote(kube::uid_of(*object), answer.value());
  return Outcome::done();
}

Outcome KubeCluster::write_scale(const ElasticMPIJob& read, int replicas) {
  const JobKey key = key_of(read);
  std::string version = read.metadata.resource_version;
  {
    const std::lock_guard lock(mutex_);
    if (const auto own = written_.find(key); own != written_.end() && own->second.first == version)
      version = own->second.second;
  }
  const auto answer =
      client_.merge_patch(resources::kElasticMpiJobs, object_key(key),
                          {{"metadata", {{"resourceVersion", version}}}, {"spec", {{"replicas", replicas}}}},
                          {.subresource = "scale", .field_manager = kManagerOfScale});
  if (!answer) return outcome_of(answer.error());
  jobs_.wrote_beside(kube::uid_of(answer.value()), answer.value());
  return Outcome::done();
}

Outcome KubeCluster::tell_unreadable(const JobRecord& record) {
  const kube::ObjectPtr object = as_read(record.job);
  if (!object) return changed_since();
  const std::string message = empi::json_text::cut(record.unreadable, kLongestConditionMessage);
  auto changed = with_false_condition(*object, condition::kReadable, "UnknownVersion", message);
  if (!changed) return Outcome::done();
  (*changed)["status"]["reason"] = condition::kReasonUnreadable;
  const auto answer = client_.update(resources::kElasticMpiJobs, object_key(key_of(record.job)), *changed,
                                     {.subresource = "status"});
  if (!answer) return outcome_of(answer.error());
  jobs_.wrote(kube::uid_of(*object), answer.value());
  events_.record({.regarding = *object,
                  .warning = true,
                  .reason = condition::kReasonUnreadable,
                  .action = {},
                  .note = message});
  return Outcome::done();
}

Outcome KubeCluster::clear_resume(const JobKey& key) {
  const json patch = {{"metadata", {{"annotations", {{kAnnotationResume, nullptr}}}}}};
  const auto answer = client_.merge_patch(resources::kElasticMpiJobs, object_key(key), patch);
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

Outcome KubeCluster::create_pod(const ElasticMPIJob& job, const json& pod) { return create_pods(job, {pod}); }

Outcome KubeCluster::make_pod(const ElasticMPIJob& job, const json& pod) {
  const JobKey key = key_of(job);
  const std::string& uid = job.metadata.uid;
  auto answer = client_.create(resources::kPods, key.namespace_name, pod);
  if (!answer && answer.error().kind == Kind::AlreadyExists) {
    const kube::ObjectKey name{key.namespace_name, pod.at("metadata").at("name")};
    answer = client_.get(resources::kPods, name);
    if (!answer && answer.error().kind == Kind::NotFound)  // a predecessor's, that has just gone
      answer = client_.create(resources::kPods, key.namespace_name, pod);
    if (answer && is_of_predecessor(answer.value(), job))
      return Outcome::retry("pod " + name.name + " is of a deleted job of this name: it has yet to end");
    if (answer && kube::controller_uid_of(answer.value()) != uid)
      return Outcome::retry("pod " + name.name +
                            " exists already and is not of this job: delete it, or name the " +
                            "job differently");
  }
  if (!answer) return outcome_of(answer.error());
  pods_.wrote(uid, answer.value());
  return Outcome::done();
}

Outcome KubeCluster::create_pods(const ElasticMPIJob& job, const std::vector<json>& pods) {
  if (pods.empty()) return Outcome::done();
  if (const kube::ObjectPtr now = jobs_.get(object_key(key_of(job)));
      !now || kube::uid_of(*now) != job.metadata.uid)
    return changed_since();
  if (Outcome ready = ensure_children(job, pods[0]); !ready.ok()) return ready;
  if (Outcome ready = ensure_certificates(job, pods); !ready.ok()) return ready;
  std::vector<Outcome> outcomes(pods.size());
  outcomes[0] = make_pod(job, pods[0]);
  if (!outcomes[0].ok() || pods.size() == 1) return outcomes[0];
  std::atomic<std::size_t> next{1};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> defects(pods.size());
  const auto create = [&] {
    for (std::size_t i; !failed && (i = next++) < pods.size();) try {
        outcomes[i] = make_pod(job, pods[i]);
        if (!outcomes[i].ok()) failed = true;
      } catch (...) {
        defects[i] = std::current_exception();  // for the pass, which knows what to do about it
        failed = true;
      }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t n = 1; n < std::min(kPodsAtOnce, pods.size() - 1); ++n) threads.emplace_back(create);
    create();
  }
  for (const std::exception_ptr& defect : defects)
    if (defect) std::rethrow_exception(defect);
  const auto first = std::ranges::find_if(outcomes, [](const Outcome& outcome) { return !outcome.ok(); });
  return first == outcomes.end() ? Outcome::done() : *first;
}

Outcome KubeCluster::delete_pod(const JobKey& key, const DeletePod& pod) {
  const kube::ObjectPtr job = jobs_.get(object_key(key));
  const std::string owner = job ? kube::uid_of(*job) : std::string();
  const kube::ObjectKey name{key.namespace_name, pod.name};
  kube::DeleteOptions options;
  options.uid = pod.uid;
  if (job && has_no_run(pod.reason) && !has_grace_of_its_own(*job)) options.grace_seconds = kGraceWithoutRun;
  const auto answer = client_.remove(resources::kPods, name, options);
  // Gone, or another pod has its name: both mean that ours is not there any more.
  const bool gone =
      !answer && (answer.error().kind == Kind::NotFound || answer.error().kind == Kind::Conflict);
  if (!answer && !gone) return outcome_of(answer.error());
  if (answer && kube::uid_of(answer.value()) == pod.uid && kube::is_being_deleted(answer.value()))
    pods_.wrote(owner, answer.value());
  else
    pods_.deleted(owner, name, pod.uid);
  return Outcome::done();
}

Outcome KubeCluster::delete_job(const JobKey& key, const std::string& uid) {
  kube::DeleteOptions options;
  options.uid = uid;
  const auto answer = client_.remove(resources::kElasticMpiJobs, object_key(key), options);
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
  look_at_children_.erase(key);
  renewed_.erase(key);
  written_.erase(key);
}

}  // namespace emj::manager
