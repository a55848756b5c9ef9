// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/coming_jobs.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace emj::cli {

std::string starts_in(const RunningJob& job) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(job.due - ComingJobs::Clock::now());
  return std::to_string(left.count()) + " s";
}

ComingJobs::ComingJobs(local::EventLoop& loop, std::string run, std::function<void()> news)
    : loop_(loop), run_(std::move(run)), news_(std::move(news)) {}

void ComingJobs::begin(Jobs jobs,
                       const std::function<local::Reply(const RunningJob&, const local::Command&)>& answer) {
  jobs_ = std::move(jobs);
  for (RunningJob& job : jobs_) job.begin();
  for (RunningJob& job : jobs_)
    if (job.due > Clock::now())
      listening_[job.key()] = job.listen(
          loop_, run_, [answer, &job](const local::Command& command) { return answer(job, command); });
}

bool ComingJobs::submit(Jobs& job) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    job.back().begin();  // not before it is in time: else it would lose what it has
    submitted_.splice(submitted_.end(), job);
  }
  news_();
  return true;
}

void ComingJobs::call_off(const JobKey& job) {
  {
    const std::lock_guard lock(mutex_);
    called_off_.insert(job);
  }
  news_();
}

void ComingJobs::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  news_();
}

bool ComingJobs::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

std::vector<ComingJobs::Dropped> ComingJobs::take_due(Jobs& due) {
  std::set<JobKey> called_off;
  {
    const std::lock_guard lock(mutex_);
    jobs_.splice(jobs_.end(), submitted_);
    called_off = called_off_;
  }
  if (ending()) return drop_all();
  std::vector<Dropped> dropped;
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto job = next++;
    if (job->due > Clock::now() && !called_off.contains(job->key())) continue;
    listening_.erase(job->key());  // from here on nobody calls it off
    const std::lock_guard lock(mutex_);
    if (called_off_.erase(job->key()) == 0) {
      due.splice(due.end(), jobs_, job);
    } else {
      dropped.push_back({job->name(), "cancelled before it began"});
      jobs_.erase(job);
    }
  }
  return dropped;
}

std::vector<ComingJobs::Dropped> ComingJobs::drop_all() {
  std::vector<Dropped> dropped;
  for (const RunningJob& job : jobs_) dropped.push_back({job.name(), "not started"});
  listening_.clear();
  jobs_.clear();
  return dropped;
}

bool ComingJobs::end_if_none() {
  const std::lock_guard lock(mutex_);
  if (!jobs_.empty() || !submitted_.empty()) return false;
  return ending_ = true;
}

ComingJobs::Clock::time_point ComingJobs::next() const {
  auto next = Clock::time_point::max();
  for (const RunningJob& job : jobs_) next = std::min(next, job.due);
  return next;
}

std::vector<std::string> ComingJobs::view() const {
  std::vector<std::string> lines;
  for (const RunningJob& job : jobs_) lines.push_back(job.name() + "  starts in " + starts_in(job));
  return lines;
}

}  // namespace emj::cli
