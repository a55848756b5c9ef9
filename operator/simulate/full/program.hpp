// SPDX-License-Identifier: Apache-2.0
// One job of a full simulation: its pods and lead (World), and the program that computes in them.
#pragma once
#include <optional>

#include "operator/decide/world.hpp"
#include "operator/simulate/full/full_run.hpp"

namespace emj::simulate {

class Program {
 public:
  Program(const Job& job, int id, ElasticMPIJob manifest, const FullOptions& options);

  World world;

  // What a pass has asked for comes true: pods come up and go, the program starts. False: nothing has
  // changed.
  bool follow(Time now);
  // The change in hand is over. Whether its members compute from now on.
  bool end_change(Time now);
  // The last iteration is over.
  void end(Time now);
  // A window ends now. Nothing is told of one in which the program has mostly stood still.
  void measure(Time now);

  bool started() const { return started_.has_value(); }
  Time started_at() const { return *started_; }
  bool measures() const { return job_.malleable; }
  Time window_end() const { return window_start_ + world.job.spec.autoscaling.window; }
  // When it will be over if nothing changes; what was said before its last change does not hold.
  Time end_time() const;
  int version() const { return version_; }
  // Workers that count for the queue (rule of its ledger): of the allocation, or living pods.
  int held() const;

 private:
  void account(Time now);
  double speed() const { return job_.curve->speed_of(computing_); }

  const Job& job_;
  int id_;
  double noise_;
  std::uint64_t seed_;
  Millis pause_;
  std::optional<Time> started_;
  double work_ = 0;  // seconds at the reference size that are left
  int computing_ = 0;
  Time seen_{};          // until when work is accounted for
  Time paused_until_{};  // it stands still
  int version_ = 0;
  bool over_ = false;
  Time window_start_{};
  double computed_ = 0;  // seconds of this window
  int windows_ = 0;
};

}  // namespace emj::simulate
