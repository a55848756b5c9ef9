// SPDX-License-Identifier: Apache-2.0
// Random histories: whatever pods, runtime, users and a crashing controller do, the promises hold. World
// checks each action against the truth; here the histories are made and the end is judged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "operator/decide/testing/world.hpp"

namespace emj {
namespace {

using testing::IsEmpty;
using testing_world::make_job;
using testing_world::World;

class Chaos {
 public:
  Chaos(unsigned seed, bool losses) : random_(seed), losses_(losses), world_(make_random_job()) {}

  void run(int steps) {
    for (int i = 0; i < steps && world_.broken.empty(); ++i) {
      disturb();
      converges();
      const bool written = chance(0.95);
      world_.reconcile(written, chance(0.9) ? SIZE_MAX : static_cast<std::size_t>(number(0, 4)));
      if (written) explains_itself();
      check_status();
    }
  }

  // Once everything behaves, the job must reach the size asked for and leave nothing behind.
  void calm_down() {
    world_.job.spec.suspend = false;
    world_.lead.reachable = true;
    world_.lead.silent = false;
    world_.room = world_.quota = SIZE_MAX;
    for (PodView& pod : world_.pods) pod.disruption_target = false;
    world_.now += Seconds(4000);  // whatever is blocked may be tried again
    world_.settle(120);
    world_.now += Seconds(4000);
    world_.settle(120);
  }

  World& world() { return world_; }

 private:
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  int number(int low, int high) { return std::uniform_int_distribution<>(low, high)(random_); }

  ElasticMPIJob make_random_job() {
    static const std::vector<std::string> allowed = {"", ", allowedReplicas: [1, 2, 4, 8]",
                                                     ", allowedReplicas: [3, 5, 7]"};
    const int min = number(1, 3);
    const int max = number(min + 2, 8);
    return make_job("  resize: {joinTimeoutSeconds: 20, prepareTimeoutSeconds: 20, patienceSeconds: " +
                        std::to_string(number(0, 24)) + allowed[number(0, 2)] + "}\n" +
                        (losses_ ? "  runPolicy: {backoffLimit: 3}\n" : ""),
                    min, max, chance(0.4) ? "    standby: " + std::to_string(number(1, 3)) + "\n" : "");
  }

  PodView* some_pod() {
    return world_.pods.empty() ? nullptr : &world_.pods[number(0, static_cast<int>(world_.pods.size()) - 1)];
  }

  void disturb() {
    world_.now += Millis(number(0, 3000));
    if (chance(0.02)) world_.now += Seconds(number(20, 60));
    if (chance(0.6)) {
      PodView* pod = some_pod();
      if (pod && pod->phase == PodPhase::Pending && !pod->terminating && world_.has_room())
        world_.make_ready(pod->index);
    }
    if (chance(0.03)) world_.room = number(1, 9);
    if (chance(0.01)) world_.quota = number(3, 12);
    if (chance(0.5)) remove_gone();
    if (chance(0.5)) world_.advance_change();
    if (chance(0.03)) world_.roll_back_change("because", chance(0.5));
    if (chance(0.05)) world_.lead.reachable = !world_.lead.reachable;
    if (chance(0.05)) world_.lead.silent = !world_.lead.silent;
    if (chance(0.01)) world_.foreign_change();
    if (chance(0.08)) world_.ask_for(number(1, 9));
    if (chance(0.03)) evict();
    if (chance(0.02)) lose_newcomer();
    if (chance(0.005)) world_.job.spec.suspend = !world_.job.spec.suspend;
    if (chance(0.002)) world_.lead.ending = world_.lead.epoch > 0;
    if (losses_ && chance(0.01)) lose_member();
  }

  // A pod that is being deleted goes; a member does not before the lead lets it go (its grace is long).
  void remove_gone() {
    std::erase_if(world_.pods,
                  [&](const PodView& pod) { return pod.terminating && !world_.lead.has(pod.uid); });
  }

  void evict() {
    PodView* pod = some_pod();
    if (!pod) return;
    if (chance(0.5))
      pod->disruption_target = true;
    else if (!world_.lead.has(pod->uid) || chance(0.3))
      pod->terminating = true;
  }

  void lose_newcomer() {
    PodView* pod = some_pod();
    if (!pod || world_.lead.has(pod->uid)) return;
    const bool joining = world_.lead.busy() && std::find(world_.lead.add.begin(), world_.lead.add.end(),
                                                         pod->uid) != world_.lead.add.end();
    // Before the start a failing worker fails the job; that is another test's business.
    if (world_.status().active_workers.empty()) return;
    if (joining) world_.roll_back_change("joiner " + pod->name + " died");
    if (chance(0.5))
      world_.end_pod(pod->index, 9, "killed");
    else
      world_.vanish(pod->index);
  }

  void lose_member() {
    PodView* pod = some_pod();
    if (!pod || !world_.lead.has(pod->uid)) return;
    if (chance(0.5))
      world_.end_pod(pod->index, 139, "Segmentation fault");
    else
      world_.vanish(pod->index);
    world_.lead.program = ProgramState::Failed;
  }

  // The same observation may not keep decide() busy for ever.
  void converges() {
    Observed observed = world_.observe();
    for (int i = 0; i < 6; ++i) {
      const Decision decision = decide(observed, world_.now);
      if (decision.status == observed.job.status) return;
      observed.job.status = decision.status;
    }
    world_.broken.push_back("decide() does not come to rest on one observation");
  }

  // A running job that does not get the size asked for says why, or goes on by itself.
  void explains_itself() {
    const JobStatus& status = world_.status();
    if (status.state != JobState::Running || status.resize) return;
    if (status.desired_replicas == status.active_workers.size()) return;
    for (const char* type : {"ResizePending", "ResizeBlocked"}) {
      const Condition* condition = find_condition(status, type);
      if (condition && condition->status == "True" && !condition->message.empty()) return;
    }
    for (const Requeue& again : world_.of_type<Requeue>())
      if (again.after <= Millis(10)) return;
    world_.broken.push_back("it runs with " + std::to_string(status.active_workers.size()) + " of " +
                            std::to_string(status.desired_replicas) + " workers and does not say why");
  }

  void check_status() {
    const JobStatus& status = world_.status();
    // A run from the start begins with epoch 1 again; within one the epoch only grows.
    if (status.epoch < last_epoch_ && status.epoch > 1) world_.broken.push_back("the epoch went back");
    last_epoch_ = status.epoch;
    if (chance(0.95)) return;
    const Result<JobStatus> read_back = parse_status(status_to_json(status));
    if (!read_back.ok() || read_back.value() != status)
      world_.broken.push_back("the status does not survive being stored: " + read_back.message());
  }

  std::mt19937 random_;
  bool losses_;
  World world_;
  std::int64_t last_epoch_ = 0;
};

TEST(RandomHistories, KeepEveryPromiseAndArriveWhereAsked) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    Chaos chaos(seed, false);
    chaos.run(250);
    World& world = chaos.world();
    ASSERT_THAT(world.broken, IsEmpty()) << "seed " << seed << "\n" << world.last_lines();
    if (is_terminal(world.status().state)) continue;
    if (world.lead.ending) continue;
    chaos.calm_down();
    ASSERT_THAT(world.broken, IsEmpty()) << "seed " << seed << ", calming down\n" << world.last_lines();
    if (is_terminal(world.status().state)) continue;
    ASSERT_EQ(world.status().state, JobState::Running) << "seed " << seed << "\n" << world.last_lines();
    ASSERT_EQ(world.size(), world.status().desired_replicas) << "seed " << seed << "\n" << world.last_lines();
    ASSERT_TRUE(is_feasible(world.job.spec, world.size())) << "seed " << seed;
    const auto& pool = world.status().standby;
    const int most = feasible_size(world.job.spec, world.job.spec.worker.max_replicas);
    ASSERT_EQ(pool ? pool->ready : 0, std::min(world.job.spec.worker.standby, most - world.size()))
        << "seed " << seed << "\n"
        << world.last_lines();
    ASSERT_EQ(static_cast<int>(world.pods.size()), world.size() + (pool ? pool->ready : 0))
        << "pods left behind, seed " << seed << "\n"
        << world.last_lines();
  }
}

TEST(RandomHistories, WithLostMembersEndOrRestartAndNeverHang) {
  int ended = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    Chaos chaos(seed, true);
    chaos.run(250);
    World& world = chaos.world();
    ASSERT_THAT(world.broken, IsEmpty()) << "seed " << seed << "\n" << world.last_lines();
    if (!world.lead.ending) chaos.calm_down();
    ASSERT_THAT(world.broken, IsEmpty()) << "seed " << seed << "\n" << world.last_lines();
    if (is_terminal(world.status().state)) {
      ++ended;
      ASSERT_TRUE(world.status().completion_time) << "seed " << seed;
    } else if (!world.lead.ending) {
      ASSERT_EQ(world.status().state, JobState::Running) << "seed " << seed << "\n" << world.last_lines();
    }
  }
  EXPECT_GT(ended, 0) << "the histories never lost a member for good: the test shows nothing";
}

}  // namespace
}  // namespace emj
