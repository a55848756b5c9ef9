// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/world.hpp"

#include <time.h>

#include "runtime/agent/lead/testing/simulated_pod.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent::histories {
namespace {

std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void run(Meter& meter) {
  meter.running = true;
  meter.began = processor_time();
}

void pause(Meter& meter) {
  meter.busy += processor_time() - meter.began;
  meter.running = false;
}

}  // namespace

Measured::Measured(Meter* meter) : meter_(meter && !meter->running ? meter : nullptr) {
  if (meter_) run(*meter_);
}
Measured::~Measured() {
  if (meter_) pause(*meter_);
}

Unmeasured::Unmeasured(Meter* meter) : meter_(meter && meter->running ? meter : nullptr) {
  if (meter_) pause(*meter_);
}
Unmeasured::~Unmeasured() {
  if (meter_) run(*meter_);
}

World::World(std::uint64_t seed) : dice(seed), network(dice) {}
World::~World() = default;

void World::tell(const std::string& what) {
  const auto now = std::chrono::duration_cast<Ms>(events.now().time_since_epoch()).count();
  story.push_back(std::to_string(now % 3600000) + " ms: " + what);
  log::debug("{}", story.back());
}

void World::tell_message(const std::string& what) {
  if (!tells_messages) return;
  tell(what);
  story.pop_back();
}

SimulatedPod* World::find(const std::string& uid) {
  const auto at = pods.find(uid);
  return at == pods.end() ? nullptr : at->second.get();
}

}  // namespace empi::agent::histories
