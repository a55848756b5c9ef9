// SPDX-License-Identifier: Apache-2.0
// The objects that a job has besides its pods: made once, kept as they are to be, and never taken from
// anybody.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/kube/job_certificates.hpp"
#include "operator/kube/kube_cluster.hpp"
#include "operator/kube/outcome.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
namespace resources = kube::resources;
using Kind = kube::ApiError::Kind;

// A change of size does not look at the job's other objects again, unless it was long ago: a user may have
// deleted one since.
constexpr Seconds kChildrenTrusted{600};
constexpr Seconds kChildrenAgain{60};  // when that did not work
// Kubelets take so long to bring a Secret's new content to its pods, at most.
constexpr Seconds kTokenOnItsWay{120};

// Whatever else keeps a child of a job from being made, the template of its pods is not wrong.
Outcome not_made(const kube::Resource& resource, const Outcome& outcome) {
  using Kind = Outcome::Kind;
  const bool is_told = outcome.kind == Kind::Conflict || outcome.kind == Kind::Ending;
  return {is_told ? outcome.kind : Kind::Retry, "making " + resource.kind + ": " + outcome.message};
}

}  // namespace

bool KubeCluster::is_of_predecessor(const json& object, const ElasticMPIJob& job) {
  const std::string uid = kube::controller_uid_of(object);
  if (uid.empty() || uid == job.metadata.uid) return false;
  return std::ranges::any_of(object.at("metadata").at("ownerReferences"), [&](const json& owner) {
    return owner.value("uid", "") == uid && owner.value("kind", "") == kJobKind &&
           owner.value("name", "") == job.metadata.name;
  });
}

// An object of that name may be anybody's: whoever may make jobs must not write, take over or, by its owner
// reference, delete what others have made.
Outcome KubeCluster::ensure(const ElasticMPIJob& job, const kube::Resource& resource, const json& object,
                            bool made) {
  const std::string& space = job.metadata.namespace_name;
  const kube::ObjectKey name{space, object.at("metadata").at("name")};
  if (!made) {
    const auto answer = client_.create(resource, space, object);
    if (answer || answer.error().kind != Kind::AlreadyExists)
      return answer ? Outcome::done() : outcome_of(answer.error());
  }
  // Whose it is, told without a right to read: an empty patch as a dry run.
  const auto there = client_.merge_patch(resource, name, json::object(), {.dry_run = true});
  if (!there && there.error().kind == Kind::NotFound) {  // somebody's has just gone, or ours
    const auto answer = client_.create(resource, space, object);
    return answer ? Outcome::done() : outcome_of(answer.error());
  }
  if (!there) return outcome_of(there.error());
  if (is_of_predecessor(there.value(), job))
    return {Outcome::Kind::Conflict,
            resource.kind + " " + name.name + " is of a deleted job of this name, it goes soon"};
  if (kube::controller_uid_of(there.value()) != job.metadata.uid)
    return Outcome::retry(resource.kind + " " + name.name +
                          " exists already and is not of this job: delete it, or name the job differently");
  if (kube::is_as_written(there.value(), object)) return Outcome::done();
  json ours = object;
  ours["metadata"]["uid"] = kube::uid_of(there.value());  // not what takes its place meanwhile
  const auto answer = client_.apply(resource, name, ours,
                                    {.subresource = {}, .field_manager = kManagerOfChildren, .force = true});
  return answer ? Outcome::done() : outcome_of(answer.error());
}

Outcome KubeCluster::ensure_children(const ElasticMPIJob& job, const json& pod) {
  const JobKey key = key_of(job);
  const std::string made_from = job.metadata.uid + "/" + root_key_.version() + "/" +
                                to_string(job.spec.network.policy) + "/" +
                                (job.status.mutual_tls ? "tls/" : "plain/") +
                                std::to_string(std::hash<std::string>{}(job.spec.worker.pod.document));
  const kube::Instant now = clock_.now();
  bool tried_before = false, made_before = false;
  {
    const std::lock_guard lock(mutex_);
    const auto known = ensured_.find(key);
    tried_before = known != ensured_.end() && known->second.made_from == made_from;
    made_before = job.status.epoch > 0 ||  // by the process before this one
                  (known != ensured_.end() && known->second.made_from.starts_with(job.metadata.uid + "/"));
    if (tried_before && now - known->second.at < kChildrenTrusted) return Outcome::done();
  }
  // Nothing is made for a template that the server would refuse: 400 for what is no pod at all, or has fields
  // that it does not know; 422 for a pod that is not valid.
  if (!tried_before) {
    const auto tried =
        client_.create(resources::kPods, key.namespace_name, pod, {.dry_run = true, .strict = true});
    if (!tried && tried.error().status == 400) return Outcome::refused(tried.error().message);
    if (!tried && tried.error().kind != Kind::AlreadyExists) return outcome_of(tried.error());
  }
  Outcome outcome = make_children(job, made_before);
  if (!outcome.ok()) return outcome;
  const std::lock_guard lock(mutex_);
  ensured_[key] = {made_from, now};
  return Outcome::done();
}

Outcome KubeCluster::make_children(const ElasticMPIJob& job, bool made_before) {
  for (const auto& [resource, object] :
       {std::pair{&resources::kSecrets, build_token_secret(job, root_key_.token_file(job.metadata.uid))},
        std::pair{&resources::kServices, build_service(job)},
        std::pair{&resources::kNetworkPolicies, build_network_policy(job, build_)}}) {
    if (object.is_null()) continue;
    const Outcome outcome = ensure(job, *resource, object, made_before);
    if (!outcome.ok()) return not_made(*resource, outcome);
  }
  if (made_before) {  // before the first pods: create_pods()
    const Outcome outcome = write_certificates(job, {}, true);
    if (!outcome.ok()) return not_made(resources::kSecrets, outcome);
  }
  const std::lock_guard lock(mutex_);
  look_at_children_[key_of(job)] = clock_.now() + kChildrenTrusted;
  return Outcome::done();
}

Outcome KubeCluster::write_certificates(const ElasticMPIJob& job, const std::set<int>& workers, bool made) {
  if (!job.status.mutual_tls) return Outcome::done();
  std::map<int, std::set<int>> secrets;  // by their number: whose certificates are in them
  std::set<int> written;
  for (const int worker : workers) written.insert(worker / kWorkersOfSecret);
  for (const PodView& pod : list_pods(key_of(job)))
    if (workers.empty() || written.contains(pod.index / kWorkersOfSecret))
      secrets[pod.index / kWorkersOfSecret].insert(pod.index);
  for (const int worker : workers) secrets[worker / kWorkersOfSecret].insert(worker);
  const JobCertificates certificates(root_key_.keys(), job.metadata.uid);
  const auto now = std::chrono::system_clock::now();
  for (const auto& [number, owners] : secrets) {
    std::map<int, std::string> identities;
    for (const int worker : owners) identities[worker] = certificates.identity(worker, now);
    const Outcome outcome =
        ensure(job, resources::kSecrets,
               build_certificate_secret(job, identities, certificates.authorities()), made);
    if (!outcome.ok()) return outcome;
  }
  if (!workers.empty()) return Outcome::done();
  for (int number = 0; number * kWorkersOfSecret < job.status.next_index; ++number) {
    const Outcome outcome = prune_certificates(job, number, secrets[number]);
    if (!outcome.ok()) return outcome;
  }
  return Outcome::done();
}

Outcome KubeCluster::prune_certificates(const ElasticMPIJob& job, int number, const std::set<int>& workers) {
  const int first = number * kWorkersOfSecret,
            end = std::min(first + kWorkersOfSecret, job.status.next_index);
  const kube::ObjectKey name{job.metadata.namespace_name, certificate_secret_name(job.metadata.name, first)};
  const auto there = client_.merge_patch(resources::kSecrets, name, json::object(), {.dry_run = true});
  if (!there) return there.error().kind == Kind::NotFound ? Outcome::done() : outcome_of(there.error());
  if (kube::controller_uid_of(there.value()) != job.metadata.uid) return Outcome::done();
  const json entries = there.value().value("data", json::object());
  json gone;
  for (int worker = first; worker < end; ++worker)
    if (const std::string entry = certificate_key(worker);
        !workers.contains(worker) && entries.contains(entry))
      gone[entry] = nullptr;
  if (gone.empty()) return Outcome::done();
  const auto answer = client_.merge_patch(
      resources::kSecrets, name, {{"metadata", {{"uid", kube::uid_of(there.value())}}}, {"data", gone}});
  return answer ? Outcome::done() : outcome_of(answer.error());
}

Outcome KubeCluster::ensure_certificates(const ElasticMPIJob& job, const std::vector<json>& pods) {
  std::set<int> workers;
  for (const json& pod : pods)
    if (const auto index = worker_index(job.metadata.name, pod.at("metadata").at("name")))
      workers.insert(*index);
  Outcome outcome = write_certificates(job, workers, false);
  return outcome.ok() ? outcome : not_made(resources::kSecrets, outcome);
}

Outcome KubeCluster::keep_children(const ElasticMPIJob& job) {
  const kube::Instant now = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    // What an operator finds when it starts is looked at one after the other, not all at once.
    const Seconds first(std::hash<std::string>{}(job.metadata.uid) % (kChildrenTrusted.count() - 1) + 1);
    const auto known = look_at_children_.try_emplace(key_of(job), now + first).first;
    if (now < known->second) return Outcome::done();
    known->second = now + kChildrenAgain;
  }
  return make_children(job, true);
}

Outcome KubeCluster::renew_token(const ElasticMPIJob& job) {
  const std::string made_from = job.metadata.uid + "/" + root_key_.version();
  const kube::Instant now = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = renewed_.find(key_of(job));
    if (known != renewed_.end() && known->second.made_from == made_from &&
        now - known->second.at < kTokenOnItsWay)
      return Outcome::done();
  }
  const Outcome outcome =
      ensure(job, resources::kSecrets, build_token_secret(job, root_key_.token_file(job.metadata.uid)), true);
  if (!outcome.ok()) return Outcome::retry("renewing the job's token: " + outcome.message);
  if (const Outcome certified = write_certificates(job, {}, true); !certified.ok())
    return Outcome::retry("renewing the job's certificates: " + certified.message);
  const std::lock_guard lock(mutex_);
  renewed_[key_of(job)] = {made_from, now};
  return Outcome::done();
}

}  // namespace emj::manager
