// SPDX-License-Identifier: Apache-2.0
// Rules Q8, Q25, Q33: all that a scheduler goes by stands in statuses. After any event of random histories
// one that is made anew from what the API server has, as text, plans what the old one plans. But for what no
// node had room for (rule Q29): that is in memory only.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using nlohmann::json;
using testing::QueueWorld;

ElasticMPIJob read_again(const ElasticMPIJob& job) {
  ElasticMPIJob again = job;
  const auto status = parse_status(json::parse(status_to_json(job.status).dump()));
  EXPECT_TRUE(status.ok()) << status.message();
  again.status = status.value();
  return again;
}

ElasticQueue read_again(const ElasticQueue& queue) {
  const auto read = parse_stored_queue(json::parse(to_json(queue).dump()));
  EXPECT_TRUE(read.ok()) << read.message();
  return read.value();
}

class Histories {
 public:
  explicit Histories(unsigned seed, PoolCapacity capacity)
      : random_(seed),
        world_(kCPUs,
               "  priorities: [{name: urgent, value: 10}]\n"
               "  order: {fairShare: {mode: Namespace}}\n"
               "  growth: {cooldownSeconds: 20, timeValuePercent: 100}\n  moves: {restSeconds: 30}\n") {
    // What is counted on is written at each plan: at most ten seconds of it are lost else.
    options_.between_status = options_.between_use = Millis(0);
    world_.scheduler = make(world_.cluster);
    if (capacity == PoolCapacity::Quota) return;
    PoolSpec& pool = world_.cluster.records[0].queue.spec.pools[0];
    pool.capacity = capacity;
    pool.quota = {};
    std::vector<NodeView>& nodes = world_.cluster.all_nodes.emplace();
    for (const char* name : {"n1", "n2"}) {
      NodeView& node = nodes.emplace_back();
      node.name = name;
      node.allocatable = queue::everything(kCPUs / 2 * 1000);
    }
  }

  void run(int events) {
    for (int i = 0; i < events && !::testing::Test::HasFailure(); ++i) {
      for (int turns = number(1, 3); turns > 0; --turns) world_.turn();
      end_some();
      // How long a shrink took, and what has ended, is learned when it is seen.
      passes();
      plan_now(*world_.scheduler, 200);
      passes();
      happen();
      passes();
      compare();
    }
  }

  int granted() const { return granted_; }

 private:
  static constexpr int kCPUs = 12;

  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  int number(int low, int high) { return std::uniform_int_distribution<>(low, high)(random_); }

  std::unique_ptr<Scheduler> make(testing::MemoryQueues& cluster) {
    return std::make_unique<Scheduler>(
        cluster, [this] { return world_.now; }, [](const std::string&) {}, options_);
  }

  void passes() {
    for (const auto& [name, job] : world_.jobs) world_.pass(*job);
    world_.show_pods();
  }

  void plan_now(Scheduler& scheduler, int later) {
    scheduler.news();
    world_.now += Millis(later);
    scheduler.turn();
  }

  QueueWorld::World* some_job() {
    if (world_.jobs.empty()) return nullptr;
    auto place = world_.jobs.begin();
    std::advance(place, number(0, static_cast<int>(world_.jobs.size()) - 1));
    return place->second.get();
  }

  void submit() {
    const std::string name = "job-" + std::to_string(100 + submitted_++);
    const int least = number(1, 4);
    std::string scheduling = chance(.5) ? testing::kPerfect : "";
    if (chance(.6)) scheduling += ", expectedSeconds: " + std::to_string(number(10, 2000));
    if (chance(.2)) scheduling += ", priorityClassName: urgent";
    if (chance(.2)) scheduling += ", preemption: None";
    QueueWorld::World& job = chance(.3) ? world_.add_rigid(name, least)
                                        : world_.add(name, least, least + number(1, 6), scheduling);
    if (chance(.3)) job.job.metadata.namespace_name = "other";
  }

  void end_some() {
    for (const auto& [name, job] : world_.jobs)
      if (job->size() > 0 && chance(.08)) job->lead.program = ProgramState::Succeeded;
    std::erase_if(world_.jobs, [&](const auto& entry) {
      const bool over = is_terminal(entry.second->status().state) && entry.second->pods.empty();
      if (over) world_.scheduler->gone(key_of(entry.second->job));
      return over;
    });
  }

  void happen() {
    if (world_.jobs.size() < 9 && chance(.7)) submit();
    if (QueueWorld::World* job = some_job(); job && chance(.2)) job->ask_for(number(1, 8));
    if (QueueWorld::World* job = some_job(); job && chance(.2)) {
      Sample sample;
      sample.workers = job->size();
      sample.wish_max = chance(.3) ? 0 : number(1, 8);
      sample.wish_min = sample.wish_max > 0 ? number(1, sample.wish_max) : 0;
      job->samples = {sample};
    }
    if (QueueWorld::World* job = some_job(); job && chance(.05))
      job->job.spec.suspend = !job->job.spec.suspend;
    if (chance(.05))
      world_.cluster.all_quotas = {{"other", "few", queue::everything(kNotCounted), number(0, 6)}};
    if (chance(.05)) world_.cluster.all_quotas.clear();
    if (world_.cluster.all_nodes) happen_to_nodes();
    if (chance(.2)) world_.now += Seconds(number(1, 300));
  }

  // Strangers come and go, and somebody cordons a node.
  void happen_to_nodes() {
    if (chance(.1)) world_.cluster.foreign_pods = {{"n1", {number(0, 4) * 1000, 0}}};
    if (chance(.1)) world_.cluster.all_nodes->at(1).usable = chance(.7);
  }

  void compare() {
    testing::MemoryQueues cluster = world_.cluster;
    for (QueueRecord& record : cluster.records) record.queue = read_again(record.queue);
    world_.scheduler->news();
    world_.now += Millis(number(200, 20'000));
    const auto other = make(cluster);
    for (const auto& [name, job] : world_.jobs) other->saw(read_again(job->job), job->pods);
    world_.scheduler->turn();
    other->turn();
    for (const auto& [name, job] : world_.jobs) {
      const auto old_one = new_grant(*world_.scheduler, *job), new_one = new_grant(*other, *job);
      EXPECT_EQ(old_one.has_value(), new_one.has_value()) << name << ": only one of them gives it something";
      if (!old_one || !new_one) continue;
      ++granted_;
      EXPECT_EQ(*old_one, *new_one) << name << ": " << old_one->reason << " or " << new_one->reason;
    }
  }

  // That does not stand in its status yet.
  static std::optional<AllocationStatus> new_grant(const Scheduler& scheduler, const QueueWorld::World& job) {
    const auto grant = scheduler.grant_of(job.job.metadata.uid);
    const std::int64_t written = job.status().allocation ? job.status().allocation->sequence : 0;
    if (!grant || !grant->allocation || grant->allocation->sequence <= written) return std::nullopt;
    return grant->allocation;
  }

  std::mt19937 random_;
  SchedulerOptions options_;
  QueueWorld world_;
  int submitted_ = 0;
  int granted_ = 0;
};

TEST(Scheduler, OneThatIsMadeAnewAfterAnyEventPlansTheSame) {
  int granted = 0;
  // Other histories at each repetition (--gtest_shuffle --gtest_repeat).
  const unsigned first = 1000 * static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  for (unsigned seed = first; seed < first + 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Histories history(seed, seed % 2 == 0 ? PoolCapacity::Quota : PoolCapacity::Nodes);
    history.run(40);
    granted += history.granted();
  }
  EXPECT_GT(granted, 10) << "there was nothing to compare";
}

}  // namespace
}  // namespace emj
