// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/simulated_pod.hpp"

#include <algorithm>

#include "runtime/agent/lead/testing/program.hpp"

namespace empi::agent::histories {

using namespace std::chrono_literals;

namespace {
constexpr Ms kFarewell = 3s;
}

SimulatedPod::SimulatedPod(World& world, Member member, std::vector<std::string> tokens)
    : world_(world),
      member_(std::move(member)),
      peers_(world, *this, std::move(tokens)),
      pod_({member_.uid, member_.name, "job", member_.slots, true, Patience{}.silence}, *this) {
  after(Ms(world_.dice.below(100)), [this] { every_tick(); });
  after(Ms(world_.dice.below(1000)), [this] { every_second(); });
}

Meter* SimulatedPod::meter() const {
  return world_.meter && world_.meter->on && world_.meter->uid == uid() ? world_.meter : nullptr;
}

// --- Time.

void SimulatedPod::after(Ms delay, std::function<void()> what) {
  world_.events.after(delay, [this, what = std::move(what)]() mutable {
    if (has_its_turn())
      act_on(what);
    else
      post(std::move(what));
  });
}

bool SimulatedPod::has_its_turn() const {
  return world_.events.none_due() && std::max(reactor_free_, stalled_until_) <= world_.events.now();
}

// One after the other, in order, and not while the process is stopped.
void SimulatedPod::post(std::function<void()> what) {
  inbox_.push_back(std::move(what));
  take_the_next();
}

void SimulatedPod::take_the_next() {
  reactor_free_ = std::max({reactor_free_, world_.events.now(), stalled_until_});
  world_.events.at(reactor_free_, [this] {
    if (alive_ && world_.events.now() < stalled_until_) return take_the_next();
    const std::function<void()> what = std::move(inbox_.front());
    inbox_.pop_front();
    act_on(what);
  });
}

void SimulatedPod::act_on(const std::function<void()>& what) {
  if (!alive_) return;
  const Measured measured(meter());
  what();
}

void SimulatedPod::stall(Ms time) {
  const Time from = std::max(stalled_until_, world_.events.now()), until = world_.events.now() + time;
  if (until <= from) return;
  stalled_until_ = until;
  stalled_ += std::chrono::duration_cast<Ms>(until - from);
}

void SimulatedPod::terminate() {
  post([this] { pod_.terminate(); });
}

void SimulatedPod::every_tick() {
  clock_.advance(world_.events.now());
  pod_.tick();
  // As after() does, but without a copy of what to do: most of what happens in a history is this.
  world_.events.after(100ms, [this] {
    if (has_its_turn())
      act_on([this] { every_tick(); });
    else
      post([this] { every_tick(); });
  });
}

void SimulatedPod::every_second() {
  pod_.second();
  after(1s, [this] { every_second(); });
}

void SimulatedPod::act(std::function<void(Pod&)> what) {
  post([this, what = std::move(what)] {
    if (!over()) what(pod_);
  });
}

ApiAnswer SimulatedPod::change(const ChangeRequest& request) {
  const Measured measured(meter());
  return pod_.begin_change(request);
}

// --- Other pods.

void SimulatedPod::admit(const std::string& uid, const std::string&) { peers_.admit(uid); }

void SimulatedPod::send(const std::vector<std::string>& uids, const Message& message) {
  const MessageBytes bytes = encode(message);
  if (Meter* const m = meter()) {
    m->encoded += bytes.size();
    m->said += uids.size();
  }
  for (const std::string& uid : uids) peers_.put(uid, bytes);
}

void SimulatedPod::drop(const std::string& uid) {
  if (is_lead() && std::max(silence_of(uid), distance_to(uid)) >= 9500ms) world_.unreachable.insert(uid);
  peers_.drop(uid);
}

void SimulatedPod::receive(const std::shared_ptr<const Batch>& batch) {
  post([this, batch] {
    peers_.heard(batch->from);
    for (const std::string& bytes : batch->messages) {
      if (meter()) ++meter()->heard;
      pod_.receive(decode_message(bytes), batch->from);
    }
  });
}

void SimulatedPod::hear_again(const std::string& uid) {
  post([this, uid] {
    peers_.heard(uid);
    pod_.heard(uid);
  });
}

void SimulatedPod::unreachable(const std::string& uid, Standing standing, bool reached) {
  pod_.unreachable(uid, standing, reached, "no answer");
}

void SimulatedPod::ended(const JobOutcome& outcome) {
  world_.tell("end of " + uid() + ": " + std::string(to_string(outcome.result)) + " " + outcome.reason);
  world_.on_end(*this);
  world_.program->pod_died(*this);
  after(kFarewell, [this] { alive_ = false; });
}

// --- Ranks.

void SimulatedPod::launch(const ProcId& proc, bool joining) {
  const Unmeasured unmeasured(meter());
  ranks_.insert(proc);
  world_.program->launch(*this, proc, joining);
}

void SimulatedPod::kill(const ProcId& proc, int signal) {
  if (ranks_.contains(proc)) world_.program->kill(proc, signal);
}

void SimulatedPod::kill_all() {
  for (const ProcId& proc : ranks_) world_.program->kill(proc, 9);
}

std::string SimulatedPod::order(const ProcId& proc, const RankOrder& order) {
  const Unmeasured unmeasured(meter());
  return world_.program->order(*this, proc, order);
}

std::uint64_t SimulatedPod::highest_probe(const std::vector<ProcId>&, ProbeMode) {
  return world_.program->probes();
}

std::vector<ProbeMark> SimulatedPod::probe_marks(const std::vector<ProcId>& procs, ProbeMode) {
  return world_.program->probe_marks(procs);
}

bool SimulatedPod::arm(const std::vector<ProcId>&, const Step& step, ProbeMode) {
  return step.iteration > world_.program->probes();
}

void SimulatedPod::confirm(const std::vector<ProcId>&, std::uint64_t iteration) {
  const Unmeasured unmeasured(meter());
  if (plan()) world_.program->confirm(*this, *plan(), iteration);
}

void SimulatedPod::notify(const RankEvent& event) { world_.program->traffic().hears(*this, event); }

void SimulatedPod::connection_data(const ProcId& proc, Blob reply) {
  const Unmeasured unmeasured(meter());
  world_.program->traffic().give_connection_data(*this, proc, reply);
}

}  // namespace empi::agent::histories
