// SPDX-License-Identifier: Apache-2.0
// What a queue believes of how fast jobs are, where it is not told (--learn online, never): what the
// product's own code makes of the sizes that each has been measured at, of earlier runs of the same program,
// and of the prior (rules Q10, Q14). What runs took is learned as well, and nobody is forecast by it:
// forecasts stay what they are under exact curves, so that both can be compared.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "operator/api/queue.hpp"
#include "operator/decide/queue/learned.hpp"
#include "operator/simulate/schedule_run.hpp"

namespace emj::simulate {

// What windows of a size tell: iterations are such that one takes a second at the reference size. On n
// workers their useful time is that of one worker, shared out; the rest of the time they wait or send.
// `noise`: by how much the time is wrong, as a share of it.
MeasuredSize measured_size(const Job& job, int workers, Time time, double noise);

// [-1, 1), of a window of a job.
double drawn_noise(std::uint64_t seed, int id, int measurement);

class Beliefs {
 public:
  Beliefs(const Workload& workload, Learn learn, double noise_percent, std::uint64_t seed,
          queue::Objective objective)
      : workload_(workload), learn_(learn), noise_(noise_percent / 100), seed_(seed), objective_(objective) {}

  bool exact() const { return learn_ == Learn::Oracle; }
  bool measures() const { return learn_ == Learn::Online; }

  // Seconds at a size after which a few of its windows of 10 s tell its time (the first two do not count),
  // and as many as policies average over.
  static constexpr double kMeasured = 60, kMeasuredWell = 320;
  struct Stay {
    int workers = 1;
    int number = 0;     // of the sizes that the job has had
    bool well = false;  // measured for so long
  };

  // The job at this place of the workload has come, computes on so many workers from now on, which has cost
  // it so much, was measured at a size.
  void come(int id);
  void computes(int id, int workers, Time now, double cost_seconds = 0);
  void measure(int id, const Stay& stay, Time now);
  // It has ended as it is: how long it took, at its reference size, as far as that is not known but found
  // out.
  std::optional<double> ended(int id, const queue::Demand& demand, Time now);
  // Its curve, and how far it may grow by that, as believed now. Nothing where all is known.
  void teach(int id, queue::Demand& demand, Time now);

 private:
  struct Known {
    ElasticMPIJob job;  // as far as its curve and its run time go
    std::string key;    // of its model
    std::shared_ptr<const queue::Curve> curve;
  };

  const Workload& workload_;
  Learn learn_;
  double noise_;
  std::uint64_t seed_;
  queue::Objective objective_;
  std::map<int, Known> known_;  // malleable jobs that wait or run, by place
  QueueStatus status_;          // with the models of earlier runs
  queue::Lessons lessons_;
};

}  // namespace emj::simulate
