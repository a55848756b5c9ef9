// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/events.hpp"

#include <algorithm>
#include <random>

#include "runtime/base/json_text.hpp"

namespace emj::kube {

using empi::json_text::cut;
using nlohmann::json;

namespace {

// At an API server that takes 0.7 s for an answer, about six Events a second.
constexpr int kWriters = 4;
constexpr std::size_t kLongestNote = 1024, kLongestReason = 128, kLongestQueue = 1000;

// Of the Event that is to be made or changed.
std::string name_of(const EventWrite& write) {
  return write.name.empty() ? write.body.at("metadata").at("name").get<std::string>() : write.name;
}

std::string unique_name(const std::string& object) {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, ".%016llx", static_cast<unsigned long long>(random()));
  return cut(object, 253 - 17) + suffix;
}

json reference_to(const json& object) {
  const ObjectKey key = key_of(object);
  json reference{{"name", key.name}};
  if (!key.namespace_name.empty()) reference["namespace"] = key.namespace_name;
  for (const char* field : {"apiVersion", "kind"})
    if (object.is_object() && object.contains(field)) reference[field] = object[field];
  if (const auto uid = uid_of(object); !uid.empty()) reference["uid"] = uid;
  return reference;
}

}  // namespace

bool EventAggregator::spend(const std::string& object, Instant now) {
  if (full_at_.size() >= limits_.objects)
    std::erase_if(full_at_, [&](const auto& entry) { return entry.second <= now; });
  if (full_at_.size() >= limits_.objects && !full_at_.contains(object)) return false;
  Instant& full_at = full_at_[object];
  const Instant after = std::max(full_at, now) + limits_.refill;
  if (after > now + limits_.refill * limits_.burst) return false;
  full_at = after;
  return true;
}

std::optional<EventWrite> EventAggregator::record(const EventNote& note, Instant now, WallTime wall) {
  const ObjectKey object = key_of(note.regarding);
  const std::string identity = uid_of(note.regarding).empty() ? to_string(object) : uid_of(note.regarding);
  const std::string text = cut(note.note, kLongestNote);
  const Key key{identity, note.warning, note.reason, note.action, text};
  const std::string time = micro_time(wall);
  const auto known = series_.find(key);
  if (known != series_.end() && now - known->second.last < limits_.series_gap) {
    Series& series = known->second;
    ++series.count;
    series.last = now;
    series.last_wall = time;
    if (now < series.next_write) return std::nullopt;
    return series_write(series, now);
  }
  if (!spend(identity, now)) {
    ++dropped_;
    return std::nullopt;
  }
  // Events about things without a namespace live in "default".
  const std::string space = object.namespace_name.empty() ? "default" : object.namespace_name;
  Series series{space, unique_name(object.name)};
  series.last = now;
  series.next_write = now + limits_.series_interval;
  series.last_wall = time;
  json body{{"apiVersion", resources::kEvents.api_version()}, {"kind", resources::kEvents.kind}};
  body["metadata"] = {{"name", series.name}, {"namespace", space}};
  body["eventTime"] = time;
  body["type"] = note.warning ? "Warning" : "Normal";
  body["reason"] = cut(note.reason, kLongestReason);
  body["action"] = cut(note.action.empty() ? note.reason : note.action, kLongestReason);
  body["note"] = text;
  body["regarding"] = reference_to(note.regarding);
  body["reportingController"] = controller_;
  body["reportingInstance"] = cut(instance_, kLongestReason);
  series_[key] = series;
  return EventWrite{space, "", std::move(body)};
}

EventWrite EventAggregator::series_write(Series& series, Instant now) {
  series.written = series.count;
  series.next_write = now + limits_.series_interval;
  return {series.namespace_name,
          series.name,
          {{"series", {{"count", series.count}, {"lastObservedTime", series.last_wall}}}}};
}

std::vector<EventWrite> EventAggregator::due(Instant now, bool everything) {
  std::vector<EventWrite> writes;
  for (auto& [key, series] : series_)
    if (series.count > series.written && (everything || now >= series.next_write))
      writes.push_back(series_write(series, now));
  std::erase_if(series_, [&](const auto& entry) {
    return entry.second.count == entry.second.written && now - entry.second.last >= limits_.series_gap;
  });
  return writes;
}

std::optional<Instant> EventAggregator::next_due() const {
  std::optional<Instant> next;
  for (const auto& [key, series] : series_)
    if (series.count > series.written && (!next || series.next_write < *next)) next = series.next_write;
  return next;
}

EventRecorder::EventRecorder(Client& client, std::string controller, std::string instance, Log log,
                             Clock& clock, EventAggregator::Limits limits)
    : client_(client),
      clock_(clock),
      log_(std::move(log)),
      aggregator_(std::move(controller), std::move(instance), limits) {
  for (int i = 0; i < kWriters; ++i) threads_.emplace_back([this] { run(); });
}

void EventRecorder::record(const EventNote& note) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    auto write = aggregator_.record(note, clock_.now(), clock_.wall());
    if (write && queue_.size() >= kLongestQueue) {
      ++failed_;
      write.reset();
    }
    if (write) queue_.push_back(std::move(*write));
    ++news_;
  }
  condition_.notify_all();
}

bool EventRecorder::write(const EventWrite& write) {
  const auto answer =
      write.name.empty()
          ? client_.create(resources::kEvents, write.namespace_name, write.body)
          : client_.merge_patch(resources::kEvents, {write.namespace_name, write.name}, write.body);
  if (!answer && log_) log_("an event was not written: " + answer.error().message);
  return answer.ok();
}

std::optional<EventWrite> EventRecorder::take() {
  for (EventWrite& write : aggregator_.due(clock_.now(), stopping_)) queue_.push_back(std::move(write));
  const auto next = std::ranges::find_if(
      queue_, [this](const EventWrite& write) { return !in_hand_.contains(name_of(write)); });
  if (next == queue_.end() || !may_write()) return std::nullopt;
  EventWrite taken = std::move(*next);
  queue_.erase(next);
  in_hand_.insert(name_of(taken));
  return taken;
}

void EventRecorder::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto next = take()) {
      lock.unlock();
      const bool good = write(*next);
      lock.lock();
      if (!good) ++failed_;
      in_hand_.erase(name_of(*next));
      ++news_;
      condition_.notify_all();
      continue;
    }
    if (stopping_ && (queue_.empty() || !may_write())) return;
    const auto due = aggregator_.next_due();
    const Instant until = stopping_ ? give_up_ : due.value_or(Instant::max());
    clock_.wait_until(condition_, lock, until, [&, known = news_] { return news_ != known; });
  }
}

void EventRecorder::stop(Millis time) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) give_up_ = clock_.now() + time;
    stopping_ = true;
    ++news_;
  }
  condition_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  std::lock_guard lock(mutex_);
  if (!queue_.empty() && log_)
    log_(std::to_string(queue_.size()) + " events were not written before the end");
  failed_ += queue_.size();
  queue_.clear();
}

std::uint64_t EventRecorder::lost() const {
  std::lock_guard lock(mutex_);
  return failed_ + aggregator_.dropped();
}

}  // namespace emj::kube
