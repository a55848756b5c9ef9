// SPDX-License-Identifier: Apache-2.0
#pragma once

// Commands from other terminals to the controller of a local job: one line of JSON each way over the Unix
// socket in its state folder.

#include <functional>
#include <optional>
#include <string>

#include "operator/local/event_loop.hpp"
#include "operator/local/state_folder.hpp"

namespace emj::local {

struct Command {
  enum class Verb { Scale, Cancel, Resume };
  Verb verb = Verb::Cancel;
  int replicas = 0;
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
