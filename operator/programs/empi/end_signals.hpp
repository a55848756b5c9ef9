// SPDX-License-Identifier: Apache-2.0
// The signals by which people and service managers end a run.
#pragma once
#include <functional>

#include "operator/local/event_loop.hpp"

namespace emj::cli {

// Of this thread and of those that it makes: they come to watch_end_signals() only. Before there are others.
void block_end_signals();

// On the loop's thread: `end` at the first of SIGINT, SIGTERM and SIGHUP, then `kill` with the signal at each
// that is not the same one again, sent to a process and to its group. Throws std::runtime_error.
void watch_end_signals(local::EventLoop& loop, std::function<void()> end, std::function<void(int)> kill);

}  // namespace emj::cli
