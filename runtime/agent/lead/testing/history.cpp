// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/history.hpp"

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/agent/lead/testing/course.hpp"
#include "runtime/base/hash.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

Coverage* g_coverage = nullptr;
void met(ChangeState state, ChangeEvent event) { g_coverage->cells.insert({state, event}); }

// Whom what has befallen, when, and what was said how often.
std::uint64_t digest_of(Course& course) {
  std::string told;
  for (const std::string& line : course.world.story) told += line + '\n';
  for (const auto& fates : course.world.messages)
    for (const std::uint64_t count : fates) told += std::to_string(count) + ',';
  return fnv1a(told + std::to_string(course.program.traffic().answered()));
}

std::vector<std::string> run(std::uint64_t seed, Coverage& coverage, bool tell_messages, Job job) {
  Course course(seed, coverage, job);
  World& world = course.world;
  world.tells_messages = tell_messages;
  Controller controller(course);
  Faults faults(course);
  Judge judge(course);
  world.on_end = [&](const SimulatedPod& pod) { judge.expect_guilt(pod); };
  const auto advance = [&](Ms time) { world.events.run_until(world.events.now() + time); };

  controller.begin();
  judge.watch();
  world.network.faulty = true;
  for (int i = world.dice.between(5, 8); i > 0; --i)
    world.events.after(world.dice.delay(500, 40'000), [&] { faults.one(); });
  advance(45s);
  world.network.faulty = false;
  course.quiet = true;
  advance(90s);
  judge.expect_rest();
  course.finish();
  advance(40s);
  judge.expect_end();

  ++coverage.histories;
  coverage.votes += course.program.split_votes();
  coverage.digest += digest_of(course);
  coverage.requests += course.program.traffic().answered();
  for (std::size_t kind = 0; kind < world.messages.size(); ++kind)
    for (std::size_t fate = 0; fate < kFates; ++fate)
      coverage.messages[kind][fate] += world.messages[kind][fate];
  std::vector<std::string> found = world.violations;
  if (!found.empty()) found.insert(found.end(), world.story.begin(), world.story.end());
  return found;
}

std::vector<std::string> watched(std::uint64_t seed, Coverage& coverage, bool tell_messages, Job job) {
  g_coverage = &coverage;
  g_history_hooks.met = met;
  std::vector<std::string> violations = run(seed, coverage, tell_messages, job);
  g_history_hooks.met = nullptr;
  return violations;
}

}  // namespace

std::vector<std::string> run_history(std::uint64_t seed, Coverage& coverage, bool tell_messages) {
  return watched(seed, coverage, tell_messages, Job::Any);
}

std::vector<std::string> run_recovery_history(std::uint64_t seed, Coverage& coverage, bool tell_messages) {
  return watched(seed, coverage, tell_messages, Job::Recoverable);
}

std::vector<std::string> run_vote_history(std::uint64_t seed, Coverage& coverage, bool tell_messages) {
  return watched(seed, coverage, tell_messages, Job::Votes);
}

std::vector<std::string> run_queue_history(std::uint64_t seed, Coverage& coverage, bool tell_messages) {
  return watched(seed, coverage, tell_messages, Job::Mirrored);
}

}  // namespace empi::agent::histories
