// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/newcomers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace emj {
namespace {

std::set<std::string> among(const std::vector<PodView>& pods, const std::set<std::string>& uids) {
  std::set<std::string> found;
  for (const PodView& pod : pods)
    if (uids.contains(pod.uid)) found.insert(pod.uid);
  return found;
}

}  // namespace

Newcomers::Newcomers(Runtime& runtime, AskingCrews& crews, Answered answered, NewcomersOptions options,
                     Clock clock)
    : runtime_(runtime),
      crews_(crews),
      answered_(std::move(answered)),
      options_(options),
      clock_(std::move(clock)) {}

std::set<std::string> Newcomers::answering(const ElasticMPIJob& job, const std::vector<PodView>& pods,
                                           bool urgent) {
  const JobKey key = key_of(job);
  std::unique_lock lock(mutex_);
  auto& kept = entries_[key];
  if (!kept) kept = std::make_shared<Entry>();
  const std::shared_ptr<Entry> entry = kept;
  std::set<std::string> before = entry->answered = among(pods, entry->answered);
  if (before.size() == pods.size()) return before;
  bool asked_now = false;
  if (entry->in_hand) {
    if (urgent) crews_.hurry(key);
  } else {
    entry->in_hand = true;
    std::vector<PodView> asked;
    std::ranges::copy_if(pods, std::back_inserter(asked),
                         [&](const PodView& pod) { return !before.contains(pod.uid); });
    const AskingLane lane = entry->distrust > 0 ? AskingLane::Slow
                            : urgent            ? AskingLane::News
                                                : AskingLane::Looks;
    asked_now =
        crews_.put(key, lane, [this, job, entry, asked = std::move(asked)] { ask(job, asked, *entry); });
  }
  if (entry->distrust > 0 || !(urgent || asked_now)) return before;
  entry->waited_for = true;
  moment_.wait_for(lock, options_.moment, [&] { return !entry->in_hand; });
  entry->waited_for = false;
  return among(pods, entry->answered);
}

void Newcomers::ask(const ElasticMPIJob& job, const std::vector<PodView>& pods, Entry& entry) {
  const auto start = clock_();
  auto now = start;
  std::set<std::string> answering;
  int asked = 0;
  bool cost_time = false;
  // One by one: a healthy start of many takes time as well, and which of them took it is to be known.
  for (const PodView& pod : pods) {
    const std::set<std::string> answers = runtime_.answering(job, {pod});
    const auto took = clock_() - now;
    now += took;
    ++asked;
    answering.insert(answers.begin(), answers.end());
    if (answers.empty()) cost_time = took >= options_.costly;
    if (answers.empty() || now - start >= options_.slow) break;
  }
  // Nor is one that just answers to be let off, if others wait for that as long.
  cost_time = cost_time || (now - start >= options_.slow && now - start >= asked * options_.costly);
  {
    const std::lock_guard lock(mutex_);
    entry.in_hand = false;
    entry.distrust = cost_time ? options_.trusted_after : std::max(0, entry.distrust - 1);
    entry.answered.insert(answering.begin(), answering.end());
    if (entry.waited_for) return moment_.notify_all();
  }
  if (!answering.empty()) answered_(key_of(job));
}

void Newcomers::forget(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  entries_.erase(job);
}

}  // namespace emj
