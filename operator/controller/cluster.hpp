// SPDX-License-Identifier: Apache-2.0
// What the controller needs from whatever holds jobs and pods: the Kubernetes API (operator/kube) or this
// machine (operator/local). The same verbs, the same meaning.
//
// Contract: every verb is idempotent, blocks for a bounded time and throws nothing. A pod that exists
// already is a successful create, a pod that is gone a successful delete.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/decide/decide.hpp"

namespace emj {

struct JobKey {
  std::string namespace_name;
  std::string name;
  auto operator<=>(const JobKey&) const = default;
};
inline JobKey key_of(const ElasticMPIJob& job) { return {job.metadata.namespace_name, job.metadata.name}; }

struct Outcome {
  enum class Kind {
    Done,
    Conflict,  // somebody else wrote meanwhile: observe again
    Refused,   // will never work as asked (422): the message is the server's
    Denied,    // not now, by a rule of the cluster (403: quota, policy): likewise
    Ending,    // never again: the namespace is being deleted
    Retry      // did not work now: the message says why
  };
  Kind kind = Kind::Done;
  std::string message;

  bool ok() const { return kind == Kind::Done; }
  static Outcome done() { return {}; }
  static Outcome refused(std::string message) { return {Kind::Refused, std::move(message)}; }
  static Outcome retry(std::string message) { return {Kind::Retry, std::move(message)}; }
};

// A job as stored, and what its users have asked for beside its spec.
struct JobRecord {
  ElasticMPIJob job;
  bool cancel_requested = false;
  bool resume_autoscaling = false;
  std::string invalid{};  // why it can never run here, in words; else empty
  // Why it cannot be read, in words; of `job` there is the metadata then. It is not gone: a program may be
  // running.
  std::string unreadable{};
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual std::optional<JobRecord> read_job(const JobKey& key) = 0;  // nullopt: no such job
  // `read`: the job as read_job gave it. Writing is refused as a Conflict when the job is another one by now,
  // or was changed by somebody else since.
  virtual Outcome write_status(const ElasticMPIJob& read, const JobStatus& status) = 0;
  // spec.worker.replicas through the scale subresource, as the autoscaler (its own field manager).
  virtual Outcome write_scale(const ElasticMPIJob& read, int replicas) = 0;
  // Condition Readable=False, which needs no reading of the rest.
  virtual Outcome tell_unreadable(const JobRecord& record) = 0;
  // The autoscaler has taken notice of resume_autoscaling: the request is spent.
  virtual Outcome clear_resume(const JobKey& key) = 0;

  virtual std::vector<PodView> list_pods(const JobKey& key) = 0;  // all that the job owns
  virtual Outcome create_pod(const ElasticMPIJob& job, const nlohmann::json& pod) = 0;
  // Several, as fast as the cluster likes: the outcome of the first that was not made, done() when all were.
  // Of those behind it some may have been made. Here: one after the other until one is not made.
  virtual Outcome create_pods(const ElasticMPIJob& job, const std::vector<nlohmann::json>& pods);
  // What the pods of a running job need beside them: looked for now and then, made again where it is gone.
  virtual Outcome keep_children(const ElasticMPIJob& job) = 0;
  // The job's agents do not take its newest token: they may have an older one only.
  virtual Outcome renew_token(const ElasticMPIJob& job) = 0;
  virtual Outcome delete_pod(const JobKey& key, const DeletePod& pod) = 0;    // only if its uid is pod.uid
  virtual Outcome delete_job(const JobKey& key, const std::string& uid) = 0;  // likewise
  virtual void record_event(const JobKey& key, const RecordEvent& event) = 0;
};

}  // namespace emj
