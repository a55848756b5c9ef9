// SPDX-License-Identifier: Apache-2.0
// Commands from other terminals to a local job, or to the run that it is one of: one line of JSON each way
// over the Unix socket in its state folder. Queue is answered by the ElasticQueue as JSON.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operator/local/event_loop.hpp"
#include "operator/local/state_folder.hpp"

namespace emj::local {

// A job for the run that the asked one belongs to.
struct Submission {
  std::string manifest;                        // absolute
  std::vector<std::string> fields, arguments;  // instead of, and beside, what the manifest says
  std::string working_directory;               // absolute; of the ranks, unless the template names one
  std::string output;                          // absolute; empty: where the run puts its jobs' output
};

struct Command {
  enum class Verb { Scale, Cancel, Resume, Submit, Queue };
  Verb verb = Verb::Cancel;
  int replicas = 0;            // Scale
  Submission submission = {};  // Submit
};

struct Reply {
  bool ok = true;
  std::string message;  // for the person who typed the command
};

// Serves until the loop stops or forgets it; `handle` is called on its thread. Throws std::system_error.
EventLoop::Id serve_commands(EventLoop& loop, const StateFolder& folder,
                             std::function<Reply(const Command&)> handle);

// Asks the running controller. Not ok, with a reason, when nobody answers within 10 s.
Reply send_command(const StateFolder& folder, const Command& command);

}  // namespace emj::local
