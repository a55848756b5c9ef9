// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/newcomers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace emj {

Newcomers::Newcomers(Runtime& runtime, AskingCrews& crews, Answered answered, NewcomersOptions options,
                     Clock clock)
    : runtime_(runtime),
      crews_(crews),
      answered_(std::move(answered)),
      options_(options),
      clock_(std::move(clock)) {}

std::set<std::string> Newcomers::known(const Entry& entry, const std::vector<PodView>& pods) const {
  std::set<std::string> uids;
  const auto now = clock_();
  for (const PodView& pod : pods)
    if (const auto answer = entry.answered.find(pod.uid);
        answer != entry.answered.end() && now - answer->second < options_.good)
      uids.insert(pod.uid);
  return uids;
}

std::set<std::string> Newcomers::answering(const ElasticMPIJob& job, const std::vector<PodView>& pods,
                                           bool urgent) {
  const JobKey key = key_of(job);
  std::unique_lock lock(mutex_);
  auto& kept = entries_[key];
  if (!kept) kept = std::make_shared<Entry>();
  const std::shared_ptr<Entry> entry = kept;
  const std::set<std::string> before = known(*entry, pods);
  if (before.size() == pods.size()) return before;
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
    crews_.put(key, lane, [this, job, entry, asked = std::move(asked)] { ask(job, asked, *entry); });
  }
  if (entry->distrust > 0) return before;
  entry->waited_for = true;
  moment_.wait_for(lock, options_.moment, [&] { return !entry->in_hand; });
  entry->waited_for = false;
  return known(*entry, pods);
}

void Newcomers::ask(const ElasticMPIJob& job, const std::vector<PodView>& pods, Entry& entry) {
  const auto start = clock_();
  const std::set<std::string> answering = runtime_.answering(job, pods);
  const auto end = clock_();
  {
    const std::lock_guard lock(mutex_);
    entry.in_hand = false;
    entry.distrust = end - start >= options_.slow ? options_.trusted_after : std::max(0, entry.distrust - 1);
    std::erase_if(entry.answered, [&](const auto& answer) { return end - answer.second >= options_.good; });
    for (const std::string& uid : answering) entry.answered[uid] = end;
    if (entry.waited_for) return moment_.notify_all();
  }
  if (!answering.empty()) answered_(key_of(job));
}

void Newcomers::forget(const JobKey& job) {
  const std::lock_guard lock(mutex_);
  entries_.erase(job);
}

}  // namespace emj
