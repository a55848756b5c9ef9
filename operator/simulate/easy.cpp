// SPDX-License-Identifier: Apache-2.0
// Textbook EASY: first come first served; when the first does not fit, it gets a reservation at the time when
// enough of the running jobs will have ended, and others may start if they will have ended by then or need no
// more than is left over at that time.
#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "operator/decide/queue/demand.hpp"
#include "operator/simulate/schedule_run.hpp"

namespace emj::simulate {
namespace {

struct Running {
  int job;
  Time claimed_end;
};

struct Ending {
  Time time;
  int job;
  bool operator<(const Ending& other) const {
    return time != other.time ? time > other.time : job > other.job;
  }
};

class Easy {
 public:
  explicit Easy(const Workload& workload)
      : workload_(workload), free_(workload.processors * std::int64_t{1000}) {
    result_.jobs.resize(workload.jobs.size());
  }

  ScheduleRun run() {
    std::size_t next = 0;
    while (next < workload_.jobs.size() || !endings_.empty()) {
      now_ = endings_.empty() ? workload_.jobs[next].submit : endings_.top().time;
      if (next < workload_.jobs.size()) now_ = std::min(now_, workload_.jobs[next].submit);
      while (!endings_.empty() && endings_.top().time <= now_) end_one();
      for (; next < workload_.jobs.size() && workload_.jobs[next].submit <= now_; ++next)
        waiting_.push_back(static_cast<int>(next));
      pass();
      ++result_.passes;
      result_.timeline.push_back({.time = now_,
                                  .running = static_cast<int>(running_.size()),
                                  .waiting = static_cast<int>(waiting_.size()),
                                  .held = workload_.processors - static_cast<double>(free_) / 1000});
    }
    return std::move(result_);
  }

 private:
  // In thousandths of a processor.
  std::int64_t need(int job) const { return workload_.jobs[job].reference * workload_.jobs[job].milli_cpu; }

  void end_one() {
    const int job = endings_.top().job;
    endings_.pop();
    free_ += need(job);
    std::erase_if(running_, [job](const Running& r) { return r.job == job; });
  }

  void start(int job) {
    const Job& it = workload_.jobs[job];
    free_ -= need(job);
    running_.push_back({job, queue::after(now_, it.estimate)});
    const Time end = queue::after(now_, it.run_seconds);
    endings_.push({end, job});
    result_.jobs[job].start = now_;
    result_.jobs[job].end = end;
    result_.jobs[job].processor_seconds = it.processors(it.reference) * seconds_between(now_, end);
  }

  void pass() {
    std::size_t first = 0;
    while (first < waiting_.size() && need(waiting_[first]) <= free_) start(waiting_[first++]);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first));
    if (!waiting_.empty()) backfill();
  }

  void backfill() {
    const int head = waiting_.front();
    std::sort(running_.begin(), running_.end(),
              [](const Running& a, const Running& b) { return a.claimed_end < b.claimed_end; });
    std::int64_t left_over = free_;
    Time shadow = now_;
    for (const Running& r : running_) {
      const Time end = std::max(r.claimed_end, now_ + Millis(1));
      if (left_over >= need(head) && end > shadow) break;
      left_over += need(r.job);
      shadow = end;
    }
    left_over -= need(head);
    auto& expected = result_.jobs[head].expected_start;
    if (!expected) expected = shadow;
    std::vector<int> still{head};
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
      const int job = waiting_[i];
      const bool in_time = queue::after(now_, workload_.jobs[job].estimate) <= shadow;
      if (need(job) > free_ || (!in_time && need(job) > left_over)) {
        still.push_back(job);
        continue;
      }
      if (!in_time) left_over -= need(job);
      start(job);
    }
    waiting_ = std::move(still);
  }

  const Workload& workload_;
  std::int64_t free_;
  Time now_{};
  std::vector<int> waiting_;
  std::vector<Running> running_;
  std::priority_queue<Ending> endings_;
  ScheduleRun result_;
};

}  // namespace

ScheduleRun run_easy(const Workload& workload) { return Easy(workload).run(); }

}  // namespace emj::simulate
