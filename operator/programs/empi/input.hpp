// SPDX-License-Identifier: Apache-2.0
// How commands of empi refuse, and texts from outside: files of users, and what others have put into a job.
#pragma once
#include <stdexcept>
#include <string>

namespace emj::cli {

// What was asked for cannot be done: one line that says why and what to do. Ends the program with status 2.
class Refusal : public std::runtime_error {
 public:
  enum class Kind {
    ForGood,
    MayPass
  };  // trouble on the way to the cluster may: whoever follows a job goes on
  explicit Refusal(const std::string& text, Kind kind = Kind::ForGood);
  bool may_pass() const { return kind_ == Kind::MayPass; }

 private:
  Kind kind_;
};

// On one line, without what a terminal would take for a command: programs and servers of others have a say in
// what is shown of a job.
std::string printable(std::string text);

// The text of a file that a user names, at most 1 MiB. Throws Refusal.
std::string read_input(const std::string& file);

}  // namespace emj::cli
