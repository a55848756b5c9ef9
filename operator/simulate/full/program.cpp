// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/full/program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "operator/simulate/beliefs.hpp"

namespace emj::simulate {
namespace {

constexpr std::size_t kWindows = 30;       // that are remembered: policies look at as many
constexpr double kMostlyStill = .5;        // of a window
constexpr double kIterationsToNoise = .2;  // windows differ more than the iterations within one tell
constexpr double kLeastError = .002;       // of the time of an iteration

}  // namespace

Program::Program(const Job& job, int id, ElasticMPIJob manifest, const FullOptions& options)
    : world(std::move(manifest)),
      job_(job),
      id_(id),
      noise_(options.learn == Learn::Oracle ? 0 : options.noise_percent / 100),
      seed_(options.seed),
      pause_(std::llround(options.pause * 1000)),
      work_(job.run_seconds) {
  world.keeps_log = false;
  world.pending_bound = options.queue.pending;
  world.paused_millis = world.lost_millis = pause_.count();
}

int Program::held() const {
  const auto& allocation = world.status().allocation;
  const auto living = std::ranges::count_if(world.pods, [](const PodView& pod) { return !has_ended(pod); });
  return std::max(allocation ? allocation->workers : 0, static_cast<int>(living));
}

void Program::account(Time now) {
  const Time from = std::max(seen_, std::min(now, paused_until_));
  if (computing_ > 0 && now > from) {
    work_ -= seconds_between(from, now) * speed();
    computed_ += seconds_between(from, now);
  }
  seen_ = now;
}

Time Program::end_time() const {
  return queue::after(std::max(seen_, paused_until_), std::max(0.0, work_) / speed());
}

bool Program::follow(Time now) {
  const bool asked = std::ranges::any_of(world.actions, [](const Action& action) {
    return !std::holds_alternative<Requeue>(action) && !std::holds_alternative<RecordEvent>(action);
  });
  if (!asked) return false;
  world.make_all_ready();
  world.remove_terminating();
  std::erase_if(world.lead.released, [this](const std::string& uid) {
    return std::ranges::find(world.pods, uid, &PodView::uid) == world.pods.end();
  });
  if (!started_ && world.lead.epoch > 0) {
    started_ = seen_ = window_start_ = now;
    computing_ = world.size();
    ++version_;
  }
  return true;
}

bool Program::end_change(Time now) {
  account(now);
  if (over_) return false;
  const std::int64_t epoch = world.lead.epoch;
  world.finish_change();
  if (world.lead.epoch == epoch) return false;
  computing_ = world.size();
  paused_until_ = now + pause_;
  ++version_;
  return true;
}

void Program::end(Time now) {
  account(now);
  world.exit_program(0);
  over_ = true;
  computing_ = 0;
  ++version_;
}

void Program::measure(Time now) {
  account(now);
  const Time begin = std::exchange(window_start_, now);
  const double computed = std::exchange(computed_, 0);
  if (computed < kMostlyStill * seconds_between(begin, now)) return;
  const MeasuredSize measured =
      measured_size(job_, computing_, now, noise_ * drawn_noise(seed_, id_, windows_++));
  Sample sample;
  sample.start = begin;
  sample.end = now;
  sample.epoch = world.lead.epoch;
  sample.workers = computing_;
  sample.ranks = computing_ * world.job.spec.slots_per_worker;
  const double efficiency = measured.useful_seconds / measured.iteration_seconds;
  sample.parallel_efficiency = sample.communication_efficiency = efficiency;
  sample.load_balance = 1;
  sample.mtct = 1 / efficiency - 1;
  sample.mean_iteration_seconds = measured.iteration_seconds;
  sample.iterations = std::max<std::int64_t>(1, std::llround(computed / measured.iteration_seconds));
  sample.ci_halfwidth = std::max(kLeastError, kIterationsToNoise * noise_);
  sample.progress = std::clamp(1 - work_ / job_.run_seconds, 0.0, 1.0);
  world.samples.push_back(sample);
  if (world.samples.size() > kWindows) world.samples.erase(world.samples.begin());
}

}  // namespace emj::simulate
