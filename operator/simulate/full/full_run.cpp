// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/full/full_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "operator/controller/scheduler.hpp"
#include "operator/simulate/full/one_queue.hpp"
#include "operator/simulate/full/program.hpp"
#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

using empi::format;

constexpr int kPassesAtOnce = 1000;      // over one job, at one instant: more is a livelock
constexpr double kFinest = 100'000'000;  // largest speedPercent: speeds are rounded to integers
constexpr Seconds kForgotten{1};         // after its end, when everybody has taken note of it
constexpr Seconds kWindow{20};           // of the jobs of traces, which run for hours

struct Event {
  enum class Kind { End, Change, Submit, Window, Look, Forget, Plan };
  Time time;
  Kind kind;
  int job;
  std::int64_t version;  // of what was expected then
  bool operator<(const Event& o) const {
    if (time != o.time) return time > o.time;
    return kind != o.kind ? kind > o.kind : job > o.job;
  }
};

// A simulated job and what has been expected of it.
struct Active {
  Active(const Job& job, int id, ElasticMPIJob manifest, const FullOptions& options)
      : program(job, id, std::move(manifest), options) {}

  Program program;
  int held = 0;
  Time paid{};                // until when processors are accounted for
  int expected_version = -1;  // of its end
  std::string change;         // whose end is expected
  bool window_expected = false;
  std::optional<Time> look;
  bool over = false;
};

// Its exact curve, as a developer may say it.
std::vector<ScalabilityPoint> points_of(const queue::Curve& curve) {
  std::vector<ScalabilityPoint> points;
  const double unit = kFinest / curve.speed(curve.fastest());
  for (int i = 0; i < curve.count(); ++i)
    points.push_back({curve.size(i), static_cast<int>(std::lround(curve.speed(i) * unit))});
  return points;
}

class FullRun {
 public:
  FullRun(const Workload& workload, const FullOptions& options)
      : workload_(workload),
        options_(options),
        cluster_(options.queue_name, options.queue),
        scheduler_(cluster_, [this] { return now_; }, [](const std::string&) {}) {
    result_.jobs.resize(workload.jobs.size());
    for (int i = 0; i < static_cast<int>(workload.jobs.size()); ++i)
      events_.push({workload.jobs[i].submit, Event::Kind::Submit, i, 0});
    left_ = workload.jobs.size();
  }

  ScheduleRun run() {
    while (left_ > 0) {
      if (events_.empty()) throw std::logic_error(format("simulation: %d jobs never ended", int(left_)));
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time <= now_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
      settle();
    }
    return std::move(result_);
  }

 private:
  void happen(const Event& event) {
    if (event.kind == Event::Kind::Submit) return submit(event.job);
    if (event.kind == Event::Kind::Plan) {
      if (planned_ == event.time) planned_.reset();
      return;
    }
    const auto found = active_.find(event.job);
    if (found == active_.end()) return;
    Active& active = *found->second;
    if (event.kind == Event::Kind::Forget) return forget(event.job);
    if (active.over) return;
    switch (event.kind) {
      case Event::Kind::End:
        if (event.version != active.program.version()) return;
        active.program.end(now_);
        break;
      case Event::Kind::Change:
        active.change.clear();
        result_.jobs[event.job].changes += active.program.end_change(now_);
        break;
      case Event::Kind::Window:
        active.window_expected = false;
        active.program.measure(now_);
        break;
      default:
        if (active.look != event.time) return;
        active.look.reset();
    }
    due_.insert(event.job);
  }

  void submit(int id) {
    const Job& job = workload_.jobs[id];
    ElasticMPIJob manifest = manifest_of(job);
    manifest.spec.scheduling.queue_name = options_.queue_name;
    if (!job.manifest && job.malleable) {
      manifest.spec.autoscaling.window = kWindow;
      if (options_.learn == Learn::Oracle) manifest.spec.scheduling.scalability = points_of(*job.curve);
    }
    // What is known already is not learned from earlier runs.
    if (options_.learn == Learn::Oracle) manifest.spec.scheduling.model = format("%08d", id);
    // As in the plain run, who is first where all else is equal; and numbers in logs may repeat.
    manifest.metadata.uid = format("%08d", id);
    if (ids_.contains(key_of(manifest))) manifest.metadata.name += "-" + std::to_string(id);
    ids_[key_of(manifest)] = id;
    active_[id] = std::make_unique<Active>(job, id, std::move(manifest), options_);
    active_[id]->paid = now_;
    due_.insert(id);
  }

  void forget(int id) {
    const JobKey key = key_of(active_.at(id)->program.world.job);
    scheduler_.gone(key);
    ids_.erase(key);
    active_.erase(id);
    --left_;
  }

  // Everybody who is due, then the scheduler, until nobody is.
  void settle() {
    Time next = now_;
    do {
      for (const int id : std::exchange(due_, {})) pass(id);
      next = scheduler_.turn();
      if (next <= now_) next = now_ + Millis(1);
      for (const JobKey& key : cluster_.take_due())
        if (const auto found = ids_.find(key); found != ids_.end()) due_.insert(found->second);
    } while (!due_.empty());
    if (!planned_ || next < *planned_) {
      planned_ = next;
      events_.push({next, Event::Kind::Plan, -1, 0});
    }
    record();
  }

  // As Controller::reconcile does it, until nothing moves any more at this instant.
  void pass(int id) {
    Active& active = *active_.at(id);
    if (active.over) return;
    World& world = active.program.world;
    for (int passes = 0;; ++passes) {
      if (passes == kPassesAtOnce)
        throw std::logic_error("simulation: job " + workload_.jobs[id].name + " does not come to rest");
      world.now = now_;
      world.grant = scheduler_.grant_of(world.job.metadata.uid);
      world.reconcile();
      scheduler_.saw(world.job, world.pods);
      ++result_.passes;
      tell(id, active);
      const bool again = active.program.follow(now_);
      pay(id, active);
      if (!again) break;
    }
    if (!world.broken.empty())
      throw std::logic_error("simulation: job " + workload_.jobs[id].name + ": " + world.broken.front());
    expect(id, active);
  }

  void tell(int id, Active& active) {
    World& world = active.program.world;
    if (options_.said)
      for (const RecordEvent& event : world.events) options_.said(now_, workload_.jobs[id], event);
    world.events.clear();
    const auto& wait = world.status().queue;
    auto& expected = result_.jobs[id].expected_start;
    if (wait && wait->expected_start && !expected) expected = wait->expected_start;
  }

  // Processors held up to now, and how many they are from now on.
  void pay(int id, Active& active) {
    const Job& job = workload_.jobs[id];
    const double seconds = seconds_between(active.paid, now_);
    result_.jobs[id].processor_seconds += seconds * job.processors(active.held);
    active.paid = now_;
    const int held = active.program.held();
    if (held == active.held) return;
    held_ += (held - active.held) * job.milli_cpu;
    active.held = held;
    if (held_ > workload_.processors * std::int64_t{1000})
      throw std::logic_error("simulation: more is given out than there is");
  }

  // What comes next of the job.
  void expect(int id, Active& active) {
    Program& program = active.program;
    const World& world = program.world;
    JobRun& run = result_.jobs[id];
    if (is_terminal(world.status().state)) {
      if (world.status().state != JobState::Succeeded)
        throw std::logic_error("simulation: job " + workload_.jobs[id].name + " has failed");
      active.over = true;
      run.end = now_;
      events_.push({now_ + kForgotten, Event::Kind::Forget, id, 0});
      return;
    }
    for (const Requeue& requeue : world.of_type<Requeue>()) {
      const Time at = now_ + requeue.after;
      if (active.look && *active.look <= at) continue;
      active.look = at;
      events_.push({at, Event::Kind::Look, id, 0});
    }
    if (world.lead.busy() && active.change != world.lead.change) {
      active.change = world.lead.change;
      events_.push({queue::after(now_, options_.delay), Event::Kind::Change, id, 0});
    }
    if (!program.started()) return;
    run.start = program.started_at();
    if (active.expected_version != program.version()) {
      active.expected_version = program.version();
      events_.push({std::max(now_, program.end_time()), Event::Kind::End, id, program.version()});
    }
    if (program.measures() && !active.window_expected) {
      active.window_expected = true;
      events_.push({std::max(now_ + Millis(1), program.window_end()), Event::Kind::Window, id, 0});
    }
  }

  void record() {
    if (!options_.timeline) return;
    Moment moment{.time = now_, .held = static_cast<double>(held_) / 1000};
    for (const auto& [id, active] : active_) {
      if (active->over) continue;
      const auto& allocation = active->program.world.status().allocation;
      (active->program.started() ? moment.running : moment.waiting)++;
      if (allocation && allocation->promised > allocation->workers)
        moment.promised += workload_.jobs[id].processors(allocation->promised - allocation->workers);
    }
    if (!result_.timeline.empty()) {
      const Moment& last = result_.timeline.back();
      if (last.running == moment.running && last.waiting == moment.waiting && last.held == moment.held &&
          last.promised == moment.promised)
        return;
    }
    result_.timeline.push_back(moment);
  }

  const Workload& workload_;
  const FullOptions& options_;
  Time now_ = kOrigin;
  OneQueue cluster_;
  Scheduler scheduler_;
  std::map<int, std::unique_ptr<Active>> active_;  // by place in the workload
  std::map<JobKey, int> ids_;
  std::set<int> due_;
  std::priority_queue<Event> events_;
  std::optional<Time> planned_;
  std::size_t left_ = 0;
  std::int64_t held_ = 0;  // thousandths of a processor
  ScheduleRun result_;
};

}  // namespace

ScheduleRun run_full(const Workload& workload, const FullOptions& options) {
  return FullRun(workload, options).run();
}

}  // namespace emj::simulate
