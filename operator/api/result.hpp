// SPDX-License-Identifier: Apache-2.0
// What reading and checking gives: what was read, and what is wrong with it in words by which to repair it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emj {

// One thing wrong with a manifest, written for the person who has to repair it.
struct Violation {
  std::string field;     // path as the user would type it: spec.worker.minReplicas
  std::string reason;    // what is wrong, with the value found
  std::string expected;  // what would be accepted
  std::string hint;      // what to do, may be empty
  int line = 0;          // 1-based line in the file, 0 when unknown
  bool warning = false;  // true: worth saying, does not refuse the job

  bool operator==(const Violation&) const = default;
};

// "file:line: field: reason, expected ..., hint", leaving out what is unknown.
std::string to_string(const Violation& violation, const std::string& filename = {});

// Either a value, perhaps with warnings, or at least one violation that refuses it.
template <class T>
class Result {
 public:
  Result(T value, std::vector<Violation> warnings = {}, std::string filename = {})
      : value_(std::move(value)), violations_(std::move(warnings)), filename_(std::move(filename)) {}
  Result(std::vector<Violation> violations, std::string filename = {})
      : violations_(std::move(violations)), filename_(std::move(filename)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const T& value() const { return value_.value(); }
  T& value() { return value_.value(); }
  // The reasons when not ok(), the warnings when ok().
  const std::vector<Violation>& violations() const { return violations_; }
  // All violations, one per line, ready to print.
  std::string message() const {
    std::string text;
    for (const Violation& violation : violations_) text += to_string(violation, filename_) + "\n";
    return text;
  }

 private:
  std::optional<T> value_;
  std::vector<Violation> violations_;
  std::string filename_;
};

}  // namespace emj
