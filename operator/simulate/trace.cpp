// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

constexpr int kFields = 18;
constexpr std::array<const char*, kFields> kNames = {"job number",
                                                     "submit time",
                                                     "wait time",
                                                     "run time",
                                                     "allocated processors",
                                                     "average CPU time",
                                                     "used memory",
                                                     "requested processors",
                                                     "requested time",
                                                     "requested memory",
                                                     "status",
                                                     "user",
                                                     "group",
                                                     "executable",
                                                     "queue",
                                                     "partition",
                                                     "preceding job",
                                                     "think time"};
constexpr double kLargest = 1e10;  // of any field: 300 years, and more processors than there are

enum Field { kNumber, kSubmit, kRunTime = 3, kAllocated, kRequested = 7, kEstimate, kStatus = 10, kUser };
constexpr double kCancelled = 5;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view next_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !blank(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

class Reader {
 public:
  explicit Reader(const std::string& name) { trace_.name = name; }

  empi::Expected<Trace, TraceError> read(std::string_view text) {
    while (!text.empty() && !error_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!error_ && trace_.jobs.empty())
      error_ = TraceError{trace_.name +
                          ": there is no job in it; expected a trace in the Standard Workload Format"};
    if (error_) return *error_;
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
    if (trace_.processors == 0) trace_.processors = nodes_;
    return std::move(trace_);
  }

 private:
  void refuse(const std::string& what) {
    error_ = TraceError{trace_.name + ":" + std::to_string(line_) + ": " + what};
  }

  static std::string printable(std::string_view found) {
    std::string word(found.substr(0, 40));
    std::replace_if(word.begin(), word.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return word;
  }

  void refuse_field(int field, std::string_view found, const char* expected) {
    refuse(empi::format("field %d (%s): expected %s, found '%s'", field + 1, kNames[field], expected,
                        printable(found).c_str()));
  }

  // "; MaxProcs: 100"; nothing, 0 or less: it is not known
  void read_header(std::string_view line) {
    line.remove_prefix(1);
    const std::string_view key = next_word(line);
    if (key != "MaxProcs:" && key != "MaxNodes:") return;
    const std::string_view word = next_word(line);
    if (word.empty()) return;
    int value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size() || value > kMostProcessors)
      return refuse(empi::format("%.*s expected a whole number, at most %d, found '%s'",
                                 static_cast<int>(key.size()), key.data(), kMostProcessors,
                                 printable(word).c_str()));
    (key == "MaxProcs:" ? trace_.processors : nodes_) = std::max(0, value);
  }

  void read_line(std::string_view line) {
    std::string_view rest = line;
    if (next_word(rest).empty()) return;
    line.remove_prefix(line.find_first_not_of(" \t"));
    if (line.front() == ';') return read_header(line);
    std::array<double, kFields> values{};
    for (int field = 0; field < kFields; ++field) {
      const std::string_view word = next_word(line);
      if (word.empty())
        return refuse(empi::format("expected 18 fields, found %d; is the file cut off?", field));
      const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), values[field]);
      if (problem != std::errc() || end != word.data() + word.size())
        return refuse_field(field, word, "a number");
      if (!(std::abs(values[field]) <= kLargest))
        return refuse_field(field, word, "a number from -1e10 to 1e10");
    }
    const std::string_view more = next_word(line);  // the operator's accounts have more, as a comment
    if (!more.empty() && more.front() != ';') return refuse("expected 18 fields, found more");
    add(values);
  }

  void add(const std::array<double, kFields>& values) {
    if (values[kSubmit] < 0) return refuse_field(kSubmit, std::to_string(values[kSubmit]), "0 or more");
    TraceJob job;
    job.number = static_cast<int>(std::clamp(values[kNumber], -1.0, 2e9));
    job.submit = values[kSubmit];
    job.user = static_cast<int>(std::clamp(values[kUser], -1.0, 2e9));
    const double processors = values[kAllocated] > 0 ? values[kAllocated] : values[kRequested];
    if (processors > kMostProcessors)
      return refuse_field(kAllocated, std::to_string(processors), "at most 1000000");
    if (processors < 1) {
      ++trace_.without_size;
      return;
    }
    job.processors = static_cast<int>(processors);
    if (values[kRunTime] <= 0 && values[kStatus] == kCancelled) {
      ++trace_.cancelled;
      return;
    }
    if (values[kRunTime] < 0) {
      ++trace_.without_run_time;
      return;
    }
    // What ended within its first second ran for one.
    job.run_seconds = std::max(1.0, values[kRunTime]);
    job.estimate = std::max(job.run_seconds, values[kEstimate]);
    trace_.jobs.push_back(job);
  }

  Trace trace_;
  int nodes_ = 0;
  int line_ = 0;
  std::optional<TraceError> error_;
};

}  // namespace

empi::Expected<Trace, TraceError> parse_trace(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

empi::Expected<Trace, TraceError> read_trace(const std::string& path) {
  auto text = read_text(path);
  if (!text) return text.error();
  return parse_trace(text.value(), path);
}

}  // namespace emj::simulate
