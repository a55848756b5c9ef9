// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "operator/api/index_set.hpp"
#include "operator/api/job.hpp"
#include "operator/api/parse.hpp"
#include "operator/api/result.hpp"
#include "operator/api/time.hpp"

namespace emj {

std::string to_string(const Violation& violation, const std::string& filename) {
  std::string text;
  if (!filename.empty()) {
    text += filename + ":";
    if (violation.line > 0) text += std::to_string(violation.line) + ":";
    text += " ";
  }
  if (violation.warning) text += "warning: ";
  if (!violation.field.empty()) text += violation.field + ": ";
  text += violation.reason;
  if (!violation.expected.empty()) text += ", expected " + violation.expected;
  if (!violation.hint.empty()) text += "; " + violation.hint;
  return text;
}

// --- index sets -----------------------------------------------------------------------------------

IndexSet::IndexSet(std::initializer_list<int> indices) : IndexSet(std::vector<int>(indices)) {}

IndexSet::IndexSet(const std::vector<int>& indices) : indices_(indices) {
  std::sort(indices_.begin(), indices_.end());
  indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
}

void IndexSet::insert(int index) {
  const auto place = std::lower_bound(indices_.begin(), indices_.end(), index);
  if (place == indices_.end() || *place != index) indices_.insert(place, index);
}

void IndexSet::erase(int index) {
  const auto place = std::lower_bound(indices_.begin(), indices_.end(), index);
  if (place != indices_.end() && *place == index) indices_.erase(place);
}

bool IndexSet::contains(int index) const {
  return std::binary_search(indices_.begin(), indices_.end(), index);
}

std::optional<IndexSet> IndexSet::parse(std::string_view text) {
  constexpr int largest = 1'000'000'000;
  constexpr int longest_range = 1'000'000;  // a typing error must not fill the memory
  std::vector<int> indices;
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > largest) return std::nullopt;
    text.remove_prefix(end - text.data());
    return value;
  };
  while (!text.empty()) {
    const auto first = number();
    if (!first) return std::nullopt;
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = number();
      if (!last || *last < *first || *last - *first > longest_range) return std::nullopt;
    }
    for (int index = *first; index <= *last; ++index) indices.push_back(index);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return IndexSet(indices);
}

std::string to_string(const IndexSet& set) {
  std::string text;
  const auto& indices = set.ascending();
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t j = i;
    while (j + 1 < indices.size() && indices[j + 1] == indices[j] + 1) ++j;
    if (!text.empty()) text += ",";
    text += std::to_string(indices[i]);
    if (j > i) text += "-" + std::to_string(indices[j]);
    i = j + 1;
  }
  return text;
}

IndexSet set_union(const IndexSet& a, const IndexSet& b) {
  std::vector<int> all = a.ascending();
  all.insert(all.end(), b.begin(), b.end());
  return IndexSet(all);
}

IndexSet set_difference(const IndexSet& a, const IndexSet& b) {
  std::vector<int> rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return IndexSet(rest);
}

// --- time -----------------------------------------------------------------------------------------

std::string to_string(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[48];
  int length = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", int(date.year()),
                             unsigned(date.month()), unsigned(date.day()), int(clock.hours().count()),
                             int(clock.minutes().count()), int(clock.seconds().count()));
  std::string result(text, length);
  if (clock.subseconds().count() != 0) {
    length = std::snprintf(text, sizeof text, ".%03d", int(clock.subseconds().count()));
    result.append(text, length);
  }
  return result + "Z";
}

std::optional<Time> parse_time(std::string_view view) {
  const std::string text(view);
  int year = 0, hour = 0, minute = 0, second = 0, used = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second,
                  &used) != 6)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  std::size_t at = used;
  int millis = 0;
  if (at < text.size() && text[at] == '.') {
    int digits = 0;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits)
      if (digits < 3) millis = millis * 10 + (text[at] - '0');
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) millis *= 10;
  }
  int offset_minutes = 0;
  const std::string zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    char sign = 0;
    int hours = 0, minutes = 0, length = 0;
    if (std::sscanf(zone.c_str(), "%c%2d:%2d%n", &sign, &hours, &minutes, &length) != 3 || length != 6 ||
        zone.size() != 6 || (sign != '+' && sign != '-'))
      return std::nullopt;
    offset_minutes = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
  }
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute - offset_minutes) + Seconds(second) + Millis(millis);
}

// --- job ------------------------------------------------------------------------------------------

int reference_size(const JobSpec& spec) {
  const WorkerSpec& worker = spec.worker;
  return feasible_size(spec,
                       worker.replicas.value_or(std::min(worker.max_replicas, 2 * worker.min_replicas)));
}

std::optional<Time> deadline_of(const ElasticMPIJob& job) {
  const SchedulingSpec& scheduling = job.spec.scheduling;
  if (scheduling.deadline || !scheduling.deadline_after || !job.metadata.creation_time)
    return scheduling.deadline;
  return *job.metadata.creation_time + *scheduling.deadline_after;
}

double amount(const Quantity& quantity) { return parse_quantity(quantity.text).value_or(0); }

int feasible_size(const JobSpec& spec, int wanted) {
  const int clamped = std::clamp(wanted, spec.worker.min_replicas,
                                 std::max(spec.worker.min_replicas, spec.worker.max_replicas));
  int below = 0;
  int smallest = 0;
  for (const int size : spec.resize.allowed_replicas) {
    if (size < spec.worker.min_replicas || size > spec.worker.max_replicas) continue;
    if (smallest == 0 || size < smallest) smallest = size;
    if (size <= clamped) below = std::max(below, size);
  }
  if (below > 0) return below;
  return smallest > 0 ? smallest : clamped;
}

bool is_feasible(const JobSpec& spec, int size) { return feasible_size(spec, size) == size; }

const Condition* find_condition(const JobStatus& status, const std::string& type) {
  for (const Condition& condition : status.conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

std::string worker_selector(const std::string& job) {
  return std::string(kLabelJob) + "=" + job + "," + kLabelRole + "=worker";
}

std::string worker_name(const std::string& job, int index) { return job + "-w-" + std::to_string(index); }

std::optional<int> worker_index(const std::string& job, const std::string& pod) {
  const std::string prefix = job + "-w-";
  if (!pod.starts_with(prefix)) return std::nullopt;
  int index = 0;
  const char* const end = pod.data() + pod.size();
  const auto [stop, error] = std::from_chars(pod.data() + prefix.size(), end, index);
  if (error != std::errc() || stop != end || index < 0 || worker_name(job, index) != pod) return std::nullopt;
  return index;
}

}  // namespace emj
