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
      clock_(std::move(clock)),
      turns_(options_.slow_commands),
      newcomers_(runtime_, crews_, answered_,
                 {.moment = options_.moment, .slow = options_.slow, .trusted_after = options_.trusted_after},
                 clock_),
      crews_(options_.crews) {}

void AskingRuntime::judge(int& owed, bool cost_time) const {
  owed = cost_time ? options_.trusted_after : std::max(0, owed - 1);
}

void AskingRuntime::look(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  const JobKey key = key_of(job);
  const auto start = clock_();
  RuntimeView view = runtime_.observe(job, pods);
  const auto took = std::chrono::duration_cast<Millis>(clock_() - start);
  if (options_.took) options_.took(took);
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    tell = note(entry, std::move(view), took >= options_.slow);
    if (const auto stop = std::exchange(entry.stop, std::nullopt))
      put_stop(stop->first, entry, stop->second);
    else
      tell = close(key, entry) || tell;
  }
  if (tell) answered_(key);
}

bool AskingRuntime::note(Entry& entry, RuntimeView view, bool cost_time) {
  if (entry.forgotten) return false;
  if (std::exchange(entry.outdated, false)) return true;
  judge(entry.distrust, cost_time);
  const bool was_silent = entry.silence.has_value();
  entry.silence.reset();
  if (is_silent(view)) entry.silence = view;
  if (was_silent && entry.silence) return false;  // no news: nobody waits for it
  entry.answer = std::move(view);
  entry.turned_away = false;
  if (entry.waited_for) moment_.notify_all();
  return !entry.waited_for;
}

bool AskingRuntime::close(const JobKey& key, Entry& entry) {
  entry.in_hand = false;
  entry.told_again = entry.next_run_waits = false;
  if (std::exchange(entry.stopping, false)) moment_.notify_all();
  const bool waited_for = std::exchange(entry.turned_away, false);
  if (!entry.forgotten) return waited_for;
  runtime_.forget(key);
  entries_.erase(key);
  return true;  // another job of this name may wait already
}

void AskingRuntime::put_stop(const ElasticMPIJob& job, Entry& entry, const StopJob& stop) {
  entry.in_hand = entry.stopping = true;
  const bool can_wait = (has_cost_time(entry) || entry.told_again) && !entry.next_run_waits;
  crews_.put_stop(key_of(job), can_wait, [this, job, stop] { send_stop(job, stop); });
}

void AskingRuntime::send_stop(const ElasticMPIJob& job, const StopJob& stop) {
  const JobKey key = key_of(job);
  const auto start = clock_();
  Outcome outcome = runtime_.stop(job, stop);
  const bool cost_time = clock_() - start >= options_.slow;
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    // The agent was slow just then, and nobody comes back for it: once more, behind those that wait.
    if (!outcome.ok() && cost_time && !entry.next_run_waits && !std::exchange(entry.told_again, true))
      return put_stop(job, entry, stop);
    entry.stopped = std::move(outcome);
    tell = close(key, entry);
  }
  if (tell) answered_(key);
}

bool AskingRuntime::prepared(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  const JobKey key = key_of(job);
  if (is_terminal(job.status.state)) leave_line(key);
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.answer) return true;
  const bool urgent = options_.urgent && options_.urgent();
  bool asked_now = false;
  if (!entry.in_hand) {
    entry.in_hand = true;
    asked_now = crews_.put(key,
                           entry.distrust > 0 ? AskingLane::Slow
                           : urgent           ? AskingLane::News
                                              : AskingLane::Looks,
                           [this, job, pods] { look(job, pods); });
  } else if (urgent) {
    crews_.hurry(key);
  }
  const bool decidable = !entry.forgotten && !entry.outdated;
  if (decidable && entry.silence) return true;
  // A look that nobody waits for is not waited for either while it waits itself: of many such moments the
  // threads had none left for events.
  if (decidable && entry.distrust == 0 && !entry.stopping && (urgent || asked_now)) {
    entry.waited_for = true;
    moment_.wait_for(lock, options_.moment, [&] { return entry.answer.has_value(); });
    entry.waited_for = false;
    if (entry.answer) return true;
  }
  entry.turned_away = true;
  return false;
}

void AskingRuntime::nothing_runs(const JobKey& key) {
  leave_line(key);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.answer.reset();
  entry.silence.reset();
  entry.outdated = entry.in_hand && !entry.stopping;
}

RuntimeView AskingRuntime::observe(const ElasticMPIJob& job, const std::vector<PodView>&) {
  const JobKey key = key_of(job);
  RuntimeView view;
  bool left = false;
  {
    const std::lock_guard lock(mutex_);
    left = turns_.pass(key);
    Entry& entry = entries_[key];
    view = entry.answer ? *std::exchange(entry.answer, std::nullopt) : entry.silence.value_or(RuntimeView{});
  }
  if (left) call_next();
  return view;
}

bool AskingRuntime::in_hand(const ElasticMPIJob& job) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key_of(job));
  return entry != entries_.end() && entry->second.in_hand;
}

std::set<std::string> AskingRuntime::answering(const ElasticMPIJob& job,
                                               const std::vector<PodView>& newcomers) {
  return newcomers_.answering(job, newcomers, options_.urgent && options_.urgent());
}

std::vector<Sample> AskingRuntime::samples(const ElasticMPIJob& job) {
  return in_hand(job) ? std::vector<Sample>{} : runtime_.samples(job);
}

Outcome AskingRuntime::busy() {
  return Outcome::retry("its agents are being asked, and have not answered yet");
}

void AskingRuntime::call_next() {
  std::vector<JobKey> called;
  {
    const std::lock_guard lock(mutex_);
    called = turns_.call(clock_());
  }
  for (const JobKey& key : called) answered_(key);
}

void AskingRuntime::leave_line(const JobKey& key) {
  bool left = false;
  {
    const std::lock_guard lock(mutex_);
    left = turns_.forget(key);
  }
  if (left) call_next();
}

bool AskingRuntime::is_stopping(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (!entry.stopping && !entry.stop) return false;
  entry.next_run_waits = true;
  if (entry.stopping) crews_.hurry_stop(key);
  return true;
}

Outcome AskingRuntime::command(const ElasticMPIJob& job, const std::function<Outcome()>& send) {
  const JobKey key = key_of(job);
  bool slow = false, in_turn = true;
  {
    const std::lock_guard lock(mutex_);
    slow = entries_[key].commands_owed > 0;
    in_turn = !slow || turns_.take(key, clock_());
  }
  if (!in_turn) {
    call_next();
    return Outcome::retry("its agent was slow to take the last command, and waits for its turn among such");
  }
  const auto ended = [&, start = clock_()] {
    const bool cost_time = clock_() - start >= options_.slow;
    {
      const std::lock_guard lock(mutex_);
      if (slow) turns_.leave(key);
      if (const auto entry = entries_.find(key); entry != entries_.end())
        judge(entry->second.commands_owed, cost_time);
    }
    if (slow) call_next();
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
  if (is_stopping(key_of(job))) return Outcome::retry("its last program is being told to end");
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

// Nobody may come back for it, the job may be gone already: what is handed over is done.
Outcome AskingRuntime::stop(const ElasticMPIJob& job, const StopJob& stop) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[key_of(job)];
  if (entry.in_hand) {
    if (!entry.stopping) entry.stop.emplace(job, stop);
    return Outcome::done();
  }
  entry.stopped.reset();
  put_stop(job, entry, stop);
  if (has_cost_time(entry)) return Outcome::done();
  moment_.wait_for(lock, options_.moment, [&] { return entry.stopped.has_value(); });
  return std::exchange(entry.stopped, std::nullopt).value_or(Outcome::done());
}

void AskingRuntime::finish_stops(Millis bound) {
  std::unique_lock lock(mutex_);
  moment_.wait_for(lock, bound, [&] {
    return std::ranges::none_of(entries_,
                                [](const auto& entry) { return entry.second.stopping || entry.second.stop; });
  });
}

void AskingRuntime::forget(const JobKey& key) {
  newcomers_.forget(key);
  leave_line(key);
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
