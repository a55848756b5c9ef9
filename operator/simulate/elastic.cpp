// SPDX-License-Identifier: Apache-2.0
// The scheduler of operator/decide/queue on a virtual clock. Grants are carried out as the operator would:
// who starts has its workers at once, who yields keeps them for the delay of a release, and every change
// costs a pause.
#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "operator/decide/queue/learned.hpp"
#include "operator/decide/queue/plan.hpp"
#include "operator/decide/queue/urgent.hpp"
#include "operator/decide/queue/usage.hpp"
#include "operator/simulate/beliefs.hpp"
#include "operator/simulate/schedule_run.hpp"
#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

using queue::Demand;
using queue::Grant;
using queue::Plan;

constexpr double kProgressKnown = 60;            // seconds of a run after which its progress tells its end
constexpr double kBusyDay = 86400;               // time constant of the average use, rule Q3
constexpr int kPassesAtOnce = 10'000;            // at one instant: more is a livelock (rule Q34)
constexpr double kDeadlineMargin = .05;          // as of policy deadline
constexpr queue::Resources kProcessor{1000, 0};  // memory is not counted

struct Event {
  enum class Kind { End, Change, Submit, Wake, Measure, Remeasure };
  Time time;
  Kind kind;
  int job;
  int version;  // of the job: what was expected of it before its last change does not happen
  bool operator<(const Event& o) const {
    if (time != o.time) return time > o.time;
    return kind != o.kind ? kind > o.kind : job > o.job;
  }
};

// What is true of a running job.
struct Body {
  double work = 0;  // seconds at the reference size that are left
  double done = 0;  // of the same
  int workers = 0;  // that compute
  int version = 0;
  Time seen{};  // until when work is accounted for
  Time paid{};  // until when processors are accounted for
};

class Elastic {
 public:
  Elastic(const Workload& workload, const ElasticOptions& options)
      : workload_(workload),
        options_(options),
        beliefs_(workload, options.learn, options.noise_percent, options.seed, options.rules.objective) {
    state_.rules = options.rules;
    state_.pools = {{"machine", kProcessor * workload.processors}};
    state_.release_seconds = options.delay;
    result_.jobs.resize(workload.jobs.size());
    bodies_.resize(workload.jobs.size());
    for (int i = 0; i < static_cast<int>(workload.jobs.size()); ++i)
      events_.push({workload.jobs[i].submit, Event::Kind::Submit, i, 0});
  }

  ScheduleRun run() {
    while (!events_.empty()) {
      now_ = events_.top().time;
      bool news = false;
      while (!events_.empty() && events_.top().time <= now_) {
        const Event event = events_.top();
        events_.pop();
        news = happen(event) || news;
      }
      if (news) passes();
    }
    if (!state_.jobs.empty())
      throw std::logic_error(
          empi::format("simulation: %d jobs never ended", static_cast<int>(state_.jobs.size())));
    return std::move(result_);
  }

 private:
  // Jobs come in order, so `ids_` is ascending.
  int place(int id) const {
    return static_cast<int>(std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin());
  }

  bool happen(const Event& event) {
    if (event.kind == Event::Kind::Submit) {
      submit(event.job);
      return true;
    }
    if (event.kind == Event::Kind::Wake) {
      if (wake_ != event.time) return false;
      wake_.reset();
      return true;
    }
    Body& body = bodies_[event.job];
    if (event.version != body.version) return false;
    const int at = place(event.job);
    Demand& demand = state_.jobs[at];
    if (event.kind == Event::Kind::Measure || event.kind == Event::Kind::Remeasure) {
      beliefs_.measure(event.job, {body.workers, body.version, event.kind == Event::Kind::Remeasure}, now_);
      return true;
    }
    account(event.job, demand);
    if (event.kind == Event::Kind::Change) {
      body.workers = demand.held = demand.allocation.workers;
      demand.resizing = false;
      demand.paused_until = queue::after(now_, options_.pause);
      beliefs_.computes(event.job, body.workers, now_, options_.pause);
      ++body.version;
      expect_end(event.job, demand);
      return true;
    }
    result_.jobs[event.job].end = now_;
    ++body.version;
    beliefs_.ended(event.job, demand, now_);
    learn(event.job);
    state_.jobs.erase(state_.jobs.begin() + at);
    ids_.erase(ids_.begin() + at);
    return true;
  }

  // What the user's claims are worth, from a job that has ended. By what it took in truth, as under exact
  // curves: what a queue makes of noisy ones (Beliefs::ended()) is within a few hundredths of that.
  void learn(int id) {
    const Job& job = workload_.jobs[id];
    const std::string user = namespace_of(job);
    queue::count_claim(claims_, user, job.estimate, job.run_seconds, now_);
    if (options_.believes) return;
    const double overrun = queue::overrun_of(claims_, user);
    if (std::exchange(overruns_.try_emplace(user, 1).first->second, overrun) == overrun) return;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (state_.jobs[i].queued() && state_.jobs[i].namespace_name == user)
        state_.jobs[i].work_left = claimed(ids_[i]);
  }

  double claimed(int id) const {
    const Job& job = workload_.jobs[id];
    const auto overrun = overruns_.find(namespace_of(job));
    return overrun == overruns_.end() ? job.estimate : job.estimate * overrun->second;
  }

  static std::string namespace_of(const Job& job) {
    return job.manifest ? job.manifest->metadata.namespace_name : "user-" + std::to_string(job.user);
  }

  void submit(int id) {
    const Job& job = workload_.jobs[id];
    Demand demand = job.asked ? *job.asked : Demand();
    const bool aims = !job.asked || job.asked->deadline;
    demand.uid = empi::format("%08d", id);
    demand.name = job.name;
    demand.namespace_name = namespace_of(job);
    demand.worker = {job.milli_cpu, 0};
    demand.curve = job.curve;
    demand.reference = job.reference;
    demand.floor = job.floor;
    demand.wish = demand.trusted = job.most;
    demand.since = job.submit;
    demand.work_left = claimed(id);
    demand.lost_seconds = options_.pause;
    demand.deadline = options_.moldable || !aims ? std::nullopt : job.deadline;
    if (!job.asked) demand.margin = kDeadlineMargin;
    beliefs_.come(id);
    state_.jobs.push_back(std::move(demand));
    ids_.push_back(id);
  }

  // Work done and processors held up to now.
  void account(int id, const Demand& demand) {
    Body& body = bodies_[id];
    const Time from = std::max(body.seen, std::min(now_, demand.paused_until));
    if (now_ > from) {
      const double done = seconds_between(from, now_) * speed(id, body.workers);
      body.work -= done;
      body.done += done;
    }
    body.seen = now_;
    result_.jobs[id].processor_seconds +=
        seconds_between(body.paid, now_) * workload_.jobs[id].processors(demand.held);
    body.paid = now_;
  }

  double speed(int id, int workers) const { return workload_.jobs[id].curve->speed_of(workers); }

  void expect_end(int id, const Demand& demand) {
    const Body& body = bodies_[id];
    const Time runs = std::max(now_, demand.paused_until);
    events_.push({queue::after(runs, std::max(0.0, body.work) / speed(id, body.workers)), Event::Kind::End,
                  id, body.version});
    if (!beliefs_.measures() || !workload_.jobs[id].malleable) return;
    events_.push({queue::after(runs, Beliefs::kMeasured), Event::Kind::Measure, id, body.version});
    events_.push({queue::after(runs, Beliefs::kMeasuredWell), Event::Kind::Remeasure, id, body.version});
  }

  // What the queue is told of a running job.
  void report(int id, Demand& demand) {
    const Job& job = workload_.jobs[id];
    const Body& body = bodies_[id];
    const double run = seconds_between(demand.started, now_);
    // By the curve that is believed a second of the present size is worth so many at the reference size.
    const int present = demand.allocation.workers;
    const double believed = beliefs_.exact() ? 1 : demand.curve->speed_of(present) / speed(id, present);
    if (job.malleable && run >= kProgressKnown) {
      demand.work_left = std::max(1.0, body.work * believed);
    } else if (job.malleable) {
      // A claim that is overrun doubles.
      const double all =
          beliefs_.exact() ? claimed(id) : claimed(id) * demand.curve->speed_of(demand.reference);
      const double done = body.done * believed;
      const double said = all > done ? all : 2 * done + 1;
      demand.work_left = std::max(1.0, said - done);
    } else {
      demand.work_left = claimed(id) - run;
      // As a scheduler on a cluster has it; EASY takes a job that has overrun for one that ends at once.
      if (job.lies && *demand.work_left <= 0) demand.work_left = run;
    }
  }

  // A deadline counts that can be met by what the user claims (step 2' of the design).
  void aim(int id, Demand& demand) {
    const Job& job = workload_.jobs[id];
    const double fastest = claimed(id) / job.curve->speed_of(job.most);
    demand.deadline_counts = queue::after(job.submit, fastest) <= *job.deadline;
    demand.floor = job.floor;
    demand.wish = job.most;
    if (!demand.queued()) keep_size(id, demand);
    keep_to_deadline(demand, now_);
  }

  void passes() {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      Demand& demand = state_.jobs[i];
      beliefs_.teach(ids_[i], demand, now_);
      if (!demand.queued()) {
        account(ids_[i], demand);
        report(ids_[i], demand);
      } else if (!beliefs_.exact()) {
        demand.work_left = claimed(ids_[i]) * demand.curve->speed_of(demand.reference);
      }
      if (demand.deadline) aim(ids_[i], demand);
    }
    update_busy();
    if (state_.rules.order.fair_share.by_namespace) update_usage();
    for (bool again = true; again;) {
      if (std::exchange(instant_, now_) != now_) passes_now_ = 0;
      if (++passes_now_ > kPassesAtOnce)
        throw std::logic_error("simulation: the scheduler does not come to rest");
      const Plan plan = schedule(state_, now_);
      ++result_.passes;
      if (options_.passed) options_.passed(now_, state_, plan);
      again = carry_out(plan);
    }
    if (options_.timeline) record();
  }

  void update_busy() {
    double held = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      held += workload_.jobs[ids_[i]].processors(state_.jobs[i].held);
    if (!started_) busy_seen_ = now_;
    started_ = true;
    const double used = held / workload_.processors;
    state_.busy += (1 - std::exp(-seconds_between(busy_seen_, now_) / kBusyDay)) * (used - state_.busy);
    busy_seen_ = now_;
  }

  void update_usage() {
    queue::add_usage(state_.usage, state_, seconds_between(usage_seen_, now_));
    usage_seen_ = now_;
  }

  // Whether there is to be another pass at once: a promise acts when it stands.
  bool carry_out(const Plan& plan) {
    for (const queue::Reservation& reservation : plan.reservations) {
      auto& expected = result_.jobs[ids_[reservation.job]].expected_start;
      if (!expected) expected = reservation.start;
    }
    bool again = false;
    for (const Grant& grant : plan.grants) {
      if (options_.decided) options_.decided(now_, state_, grant);
      again = again || grant.kind == Grant::Kind::Promise || grant.kind == Grant::Kind::Withdraw;
    }
    for (const Grant& grant : plan.grants) carry_out(grant);
    if (plan.wake && (!wake_ || *plan.wake < *wake_)) {
      wake_ = plan.wake;
      events_.push({*plan.wake, Event::Kind::Wake, -1, 0});
    }
    return again;
  }

  void carry_out(const Grant& grant) {
    Demand& demand = state_.jobs[grant.job];
    const int id = ids_[grant.job];
    const bool starts = demand.queued() && grant.allocation.workers > 0;
    const bool resized = !demand.queued() && grant.allocation.workers != demand.allocation.workers;
    demand.allocation = grant.allocation;
    if (starts) {
      start(id, demand);
    } else if (resized) {
      account(id, demand);
      demand.held = std::max(demand.held, demand.allocation.workers);
      demand.resizing = true;
      demand.changed = now_;
      keep_size(id, demand);
      ++result_.jobs[id].changes;
      events_.push({queue::after(now_, options_.delay), Event::Kind::Change, id, bodies_[id].version});
    }
  }

  void start(int id, Demand& demand) {
    Body& body = bodies_[id];
    demand.held = body.workers = demand.allocation.workers;
    demand.started = demand.paused_until = body.seen = body.paid = now_;
    body.work = workload_.jobs[id].run_seconds;
    result_.jobs[id].start = now_;
    if (options_.moldable) demand.floor = demand.wish = demand.held;
    keep_size(id, demand);
    beliefs_.computes(id, body.workers, now_);
    expect_end(id, demand);
  }

  // One that is not to be shrunk keeps what it has (rule Q15).
  void keep_size(int id, Demand& demand) const {
    const auto& manifest = workload_.jobs[id].manifest;
    if (manifest && manifest->spec.scheduling.preemption == Preemption::None && workload_.jobs[id].malleable)
      demand.floor = demand.allocation.workers;
  }

  void record() {
    Moment moment{.time = now_};
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const Demand& demand = state_.jobs[i];
      const Job& job = workload_.jobs[ids_[i]];
      (demand.queued() ? moment.waiting : moment.running)++;
      moment.held += job.processors(demand.held);
      moment.promised += job.processors(demand.lacking());
    }
    result_.timeline.push_back(moment);
  }

  const Workload& workload_;
  const ElasticOptions& options_;
  Time now_{};
  queue::QueueState state_;
  std::vector<int> ids_;  // of the jobs in state_, as places in the workload
  std::vector<Body> bodies_;
  std::vector<ClaimRecord> claims_;         // of users
  std::map<std::string, double> overruns_;  // of users, as far as they count
  Beliefs beliefs_;
  std::priority_queue<Event> events_;
  std::optional<Time> wake_;
  Time busy_seen_{};
  Time usage_seen_{};
  bool started_ = false;
  Time instant_{};
  int passes_now_ = 0;  // at this instant
  ScheduleRun result_;
};

}  // namespace

ScheduleRun run_elastic(const Workload& workload, const ElasticOptions& options) {
  return Elastic(workload, options).run();
}

}  // namespace emj::simulate
