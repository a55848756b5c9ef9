// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/asking_runtime.hpp"

#include <algorithm>
#include <utility>

namespace emj {
namespace {

bool is_silent(const RuntimeView& view) { return !view.reachable || view.lead_silent; }

}  // namespace

AskingRuntime::AskingRuntime(Runtime& runtime, Answered answered, AskingOptions options, Clock clock)
    : runtime_(runtime),
      answered_(std::move(answered)),
      options_(std::move(options)),
      clock_(std::move(clock)) {
  for (const auto& [crew, size] :
       {std::pair(&for_news_, options_.threads_for_news), std::pair(&quick_, options_.threads),
        std::pair(&slow_, options_.threads_for_slow)})
    for (int i = 0; i < size; ++i) threads_.emplace_back([this, crew = crew] { work(*crew); });
}

AskingRuntime::~AskingRuntime() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (Crew* crew : {&for_news_, &quick_, &slow_}) crew->called.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void AskingRuntime::work(Crew& crew) {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Question> question;
    crew.called.wait(lock, [&] { return stopping_ || (question = next(crew)); });
    if (stopping_) return;
    lock.unlock();
    ask(*question);
    lock.lock();
  }
}

std::optional<AskingRuntime::Question> AskingRuntime::next(const Crew& crew) {
  for (const Lane lane : crew.lanes) {
    if (questions_[lane].empty()) continue;
    Question question = std::move(questions_[lane].front());
    questions_[lane].pop_front();
    entries_[question.key].waits_in.reset();
    return question;
  }
  return std::nullopt;
}

void AskingRuntime::put(Question question, Entry& entry, Lane lane) {
  entry.in_hand = true;
  entry.waits_in = lane;
  questions_[lane].push_back(std::move(question));
  if (lane == kNews) for_news_.called.notify_one();
  (lane == kSlow ? slow_ : quick_).called.notify_one();
}

// An event has come while the question waited behind others that nobody waits for.
void AskingRuntime::hurry(const JobKey& key, Entry& entry) {
  if (entry.waits_in != kLooks) return;
  auto& looks = questions_[kLooks];
  const auto waiting = std::ranges::find(looks, key, &Question::key);
  Question question = std::move(*waiting);
  looks.erase(waiting);
  put(std::move(question), entry, kNews);
}

void AskingRuntime::judge(int& owed, bool cost_time) const {
  owed = cost_time ? options_.trusted_after : std::max(0, owed - 1);
}

void AskingRuntime::ask(const Question& question) {
  const auto start = clock_();
  RuntimeView view = runtime_.observe(question.job, question.pods);
  const auto took = std::chrono::duration_cast<Millis>(clock_() - start);
  if (options_.took) options_.took(took);
  const bool cost_time = took >= options_.slow;
  {
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[question.key];
    while (const auto stop = std::exchange(entry.stop, std::nullopt)) {
      lock.unlock();
      runtime_.stop(question.job, *stop);
      lock.lock();
    }
    entry.in_hand = false;
    if (entry.forgotten) {
      runtime_.forget(question.key);
      entries_.erase(question.key);  // another job of this name may wait already
    } else if (!std::exchange(entry.outdated, false)) {
      judge(entry.distrust, cost_time);
      const bool was_silent = entry.silence.has_value();
      entry.silence.reset();
      if (is_silent(view)) entry.silence = view;
      if (was_silent && entry.silence) return;  // no news: nobody waits for it
      entry.answer = std::move(view);
      if (entry.waited_for) return moment_.notify_all();
    }
  }
  answered_(question.key);
}

bool AskingRuntime::prepared(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  const JobKey key = key_of(job);
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.answer) return true;
  const bool urgent = options_.urgent && options_.urgent();
  if (!entry.in_hand)
    put({key, job, pods}, entry, entry.distrust > 0 ? kSlow : urgent ? kNews : kLooks);
  else if (urgent)
    hurry(key, entry);
  if (entry.forgotten || entry.outdated) return false;
  if (entry.silence) return true;
  if (entry.distrust > 0) return false;
  entry.waited_for = true;
  moment_.wait_for(lock, options_.moment, [&] { return entry.answer.has_value(); });
  entry.waited_for = false;
  return entry.answer.has_value();
}

void AskingRuntime::nothing_runs(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.answer.reset();
  entry.silence.reset();
  entry.outdated = entry.in_hand;
}

RuntimeView AskingRuntime::observe(const ElasticMPIJob& job, const std::vector<PodView>&) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key_of(job)];
  if (auto answer = std::exchange(entry.answer, std::nullopt)) return *std::move(answer);
  return entry.silence.value_or(RuntimeView{});
}

bool AskingRuntime::in_hand(const ElasticMPIJob& job) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key_of(job));
  return entry != entries_.end() && entry->second.in_hand;
}

bool AskingRuntime::answers(const ElasticMPIJob& job, const PodView& pod) {
  bool yes = false;
  command(job, [&] {
    yes = runtime_.answers(job, pod);
    return Outcome::done();
  });
  return yes;
}

std::vector<Sample> AskingRuntime::samples(const ElasticMPIJob& job) {
  return in_hand(job) ? std::vector<Sample>{} : runtime_.samples(job);
}

Outcome AskingRuntime::busy() {
  return Outcome::retry("its agents are being asked, and have not answered yet");
}

Outcome AskingRuntime::command(const ElasticMPIJob& job, const std::function<Outcome()>& send) {
  const JobKey key = key_of(job);
  bool slow = false;
  {
    const std::lock_guard lock(mutex_);
    slow = entries_[key].commands_owed > 0;
    if (slow && slow_commands_ >= options_.slow_commands)
      return Outcome::retry("its agent was slow to take the last command, and waits for its turn among such");
    slow_commands_ += slow;
  }
  const auto ended = [&, start = clock_()] {
    const bool cost_time = clock_() - start >= options_.slow;
    const std::lock_guard lock(mutex_);
    slow_commands_ -= slow;
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) return;
    judge(entry->second.commands_owed, cost_time);
  };
  try {
    const Outcome outcome = send();
    ended();
    return outcome;
  } catch (...) {
    ended();
    throw;
  }
}

Outcome AskingRuntime::start(const ElasticMPIJob& job, const StartJob& start) {
  return command(job, [&] { return runtime_.start(job, start); });
}

Outcome AskingRuntime::name_lead(const ElasticMPIJob& job, const NameLead& lead) {
  return command(job, [&] { return runtime_.name_lead(job, lead); });
}

Outcome AskingRuntime::change(const ElasticMPIJob& job, const SendChange& change) {
  return command_to_lead(job, [&] { return runtime_.change(job, change); });
}

Outcome AskingRuntime::cancel(const ElasticMPIJob& job, const CancelChange& cancel) {
  return command_to_lead(job, [&] { return runtime_.cancel(job, cancel); });
}

Outcome AskingRuntime::give_notice(const ElasticMPIJob& job, const GiveNotice& notice) {
  return command_to_lead(job, [&] { return runtime_.give_notice(job, notice); });
}

Outcome AskingRuntime::stop(const ElasticMPIJob& job, const StopJob& stop) {
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(key_of(job));
    if (entry != entries_.end() && entry->second.in_hand) {
      entry->second.stop = stop;  // nobody may come back for it: the job may be gone already
      return busy();
    }
  }
  return runtime_.stop(job, stop);
}

void AskingRuntime::forget(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry != entries_.end() && entry->second.in_hand) {
    entry->second.forgotten = true;
    entry->second.answer.reset();
    entry->second.silence.reset();
    return;
  }
  if (entry != entries_.end()) entries_.erase(entry);
  runtime_.forget(key);
}

}  // namespace emj
