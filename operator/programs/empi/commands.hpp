// SPDX-License-Identifier: Apache-2.0
// Commands that look at local jobs or talk to their controllers. Each returns the exit code: 0, or 1 with
// the reason on standard error.
#pragma once
#include <string>
#include <vector>

#include "operator/local/control.hpp"
#include "operator/programs/empi/manifest.hpp"

namespace emj::cli {

int ask(const std::string& job, const local::Command& command);  // scale, cancel, resume
// Adds a job to the run that goes on, or, of several, to that of job `beside`. 2: bad manifest.
int submit(const std::string& manifest, const Overrides& overrides, const std::string& output,
           const std::string& beside);
int queue(const std::string& name);  // empty name: all
// What these queues say of themselves; throws std::runtime_error where one cannot be read.
std::vector<std::string> local_queue_lines(const std::string& name);
int top(const std::string& job, bool once);  // empty job: all
int history(const std::string& job, bool events);
int why(const std::string& job);

}  // namespace emj::cli
