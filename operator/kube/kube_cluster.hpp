// SPDX-License-Identifier: Apache-2.0
// Cluster over the Kubernetes API. Reads come from two caches that watches keep up to date; a job is to be
// reconciled only while `settled`, that is when the caches show what was written for it before.
//
// Thread safe, as the client and the caches are; one thread at a time per job.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "operator/controller/cluster.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/events.hpp"
#include "operator/kube/informer.hpp"
#include "operator/kube/root_key.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {

// Annotations by which users ask for something beside the spec.
inline constexpr const char* kAnnotationCancel = "elasticmpi.io/cancel";  // "true", and nothing else
inline constexpr const char* kAnnotationResume = "elasticmpi.io/resume-autoscaling";  // likewise

// Field managers: who has written what, as managedFields shows it.
inline constexpr const char* kManagerOfChildren = "elastic-mpi-operator";
inline constexpr const char* kManagerOfScale = "elastic-mpi-autoscaler";

class KubeCluster : public Cluster {
 public:
  using Log = std::function<void(const std::string& line)>;
  KubeCluster(kube::Client& client, kube::Informer& jobs, kube::Informer& pods, kube::EventRecorder& events,
              RootKey& root_key, BuildOptions build, Log log, kube::Clock& clock = kube::real_clock());

  // Whether the caches show all that was written for the job; if not, when to look again at the latest.
  bool settled(const JobKey& key);
  Millis settled_in(const JobKey& key);

  std::optional<JobRecord> read_job(const JobKey& key) override;
  Outcome write_status(const ElasticMPIJob& read, const JobStatus& status) override;
  Outcome write_scale(const ElasticMPIJob& read, int replicas) override;
  Outcome tell_unreadable(const JobRecord& record) override;
  Outcome clear_resume(const JobKey& key) override;
  std::vector<PodView> list_pods(const JobKey& key) override;
  Outcome create_pod(const ElasticMPIJob& job, const nlohmann::json& pod) override;
  // The first alone, for the job's other objects and to see whether pods are taken; then up to eight at a
  // time.
  Outcome create_pods(const ElasticMPIJob& job, const std::vector<nlohmann::json>& pods) override;
  Outcome keep_children(const ElasticMPIJob& job) override;
  Outcome renew_token(const ElasticMPIJob& job) override;
  Outcome delete_pod(const JobKey& key, const DeletePod& pod) override;
  Outcome delete_job(const JobKey& key, const std::string& uid) override;
  void record_event(const JobKey& key, const RecordEvent& event) override;
  void forget(const JobKey& key);  // the job is gone

 private:
  // Before pods: their certificates, in one write for those of one Secret.
  Outcome ensure_certificates(const ElasticMPIJob& job, const std::vector<nlohmann::json>& pods);
  // Secrets with certificates of these workers and of those that have pods. For no worker in particular,
  // those of workers that have gone are taken out.
  Outcome write_certificates(const ElasticMPIJob& job, const std::set<int>& workers, bool made);
  // Takes those of all others out of Secret `number`, if there is one.
  Outcome prune_certificates(const ElasticMPIJob& job, int number, const std::set<int>& workers);
  // Owned by a job of the same name that was deleted: garbage collection has not come to it yet.
  static bool is_of_predecessor(const nlohmann::json& object, const ElasticMPIJob& job);
  Outcome make_pod(const ElasticMPIJob& job, const nlohmann::json& pod);
  // What the job needs before its first pod: service, token, network policy. May be done again at any time.
  // `pod` is tried first.
  Outcome ensure_children(const ElasticMPIJob& job, const nlohmann::json& pod);
  // `made_before`: they are looked for first.
  Outcome make_children(const ElasticMPIJob& job, bool made_before);
  // One of these, created, or brought up to date by server-side apply. `made`: by us, as a rule.
  Outcome ensure(const ElasticMPIJob& job, const kube::Resource& resource, const nlohmann::json& object,
                 bool made);
  kube::ObjectPtr as_read(const ElasticMPIJob& read) const;  // the job in the cache, if it is still that one

  kube::Client& client_;
  kube::Informer& jobs_;
  kube::Informer& pods_;
  kube::EventRecorder& events_;
  RootKey& root_key_;
  const BuildOptions build_;
  const Log log_;
  kube::Clock& clock_;
  std::mutex mutex_;
  struct Ensured {
    std::string made_from;  // what of the job they depend on
    kube::Instant at;
  };
  std::map<JobKey, Ensured> ensured_, renewed_;
  std::map<JobKey, kube::Instant> look_at_children_;  // when next
  // What a status write has made of a resource version, for a second write of the same pass.
  std::map<JobKey, std::pair<std::string, std::string>> written_;
};

}  // namespace emj::manager
