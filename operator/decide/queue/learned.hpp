// SPDX-License-Identifier: Apache-2.0
// What earlier runs teach (rules Q10, Q12, Q14): how a program scales, how long it takes, and what run times
// that users claim are worth. It is in the queue's status; all here are functions of values.
//
// Models are kept by namespace and key: nobody's jobs are sized by what somebody else has run.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/decide/queue/demand.hpp"
#include "operator/decide/queue/rules.hpp"

namespace emj::queue {

// spec.scheduling.model; else a hash of what runs: image, command, arguments and slots of a worker.
std::string model_key(const JobSpec& spec);

// What the job has measured so far. The same points twice change nothing.
void learn_points(std::vector<LearnedModel>& models, const ElasticMPIJob& job);
// How long a run that stands so has taken until `end`, in seconds at the reference size on cores of speed 1.
double run_seconds(const ElasticMPIJob& job, Time end);
// Once, when a run has ended that stood so in its last status: how long it took at the sizes that it had, if
// it has succeeded, and what its claim and its earlier runs were worth as forecasts.
void learn_end(QueueStatus& status, const ElasticMPIJob& before, const ElasticMPIJob& ended);

// A job of this namespace has taken `taken` seconds, `claimed` were said, by its user or by earlier runs.
void count_claim(std::vector<ClaimRecord>& claims, const std::string& namespace_name, double claimed,
                 double taken, Time now);
// What claims of the namespace and what its earlier runs took are multiplied by (step 2' of the design): 1 at
// least, so that a low claim gains nothing in backfill, nor do short runs of one model before a long one, and
// a high one is taken for what it is.
double overrun_of(const std::vector<ClaimRecord>& claims, const std::string& namespace_name);

// Curves as earlier runs know them, kept from pass to pass: a fit for each of thousands of jobs takes time.
class Lessons {
 public:
  // Where the job's own measure and its forecast leave something open. `key`: its model_key(), which reads
  // the pod template, and may be another one than at the last pass.
  void teach(Demand& demand, const ElasticMPIJob& job, const std::string& key, const QueueStatus& status,
             Objective objective, Time now);
  void forget(const std::string& uid) { known_.erase(uid); }

 private:
  struct Known {
    std::string key;
    std::shared_ptr<const Curve> before{};  // what it was without
    Time renewed{};                         // when its model was
    std::shared_ptr<const Curve> after{};
  };
  std::map<std::string, Known> known_;  // by uid
};

}  // namespace emj::queue
