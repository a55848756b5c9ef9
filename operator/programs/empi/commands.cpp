// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/commands.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "operator/programs/empi/console.hpp"
#include "operator/programs/empi/explain.hpp"
#include "operator/programs/empi/view.hpp"

namespace emj::cli {

namespace {

constexpr std::chrono::milliseconds kRefreshInterval{1000};

int refuse(const std::string& text) {
  std::fprintf(stderr, "empi: %s\n", text.c_str());
  return 1;
}

std::string no_such_job(const std::string& job) {
  std::string known;
  for (const std::string& name : local::known_jobs()) known += (known.empty() ? "" : ", ") + name;
  return "no job named " + job + " in " + local::state_root() +
         (known.empty() ? "; no job is known there" : "; known: " + known);
}

// Its running time: until now, its end, or unknown when its controller was killed.
double run_seconds(const ElasticMPIJob& job, bool alive) {
  if (!job.status.start_time) return 0;
  const Time now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  if (!alive && !job.status.completion_time) return 0;
  return static_cast<double>((job.status.completion_time.value_or(now) - *job.status.start_time).count()) /
         1000;
}

std::vector<std::string> lines_of(const std::string& name) {
  const local::StateFolder folder(name);
  try {
    const auto job = folder.read();
    if (!job) return {name + "  no state"};
    const bool alive = folder.claimed();
    auto lines = view_lines(*job, {}, run_seconds(*job, alive), "");
    if (!alive && !is_terminal(job->status.state)) {
      lines.front() = name + "  its controller was killed while the job was " + to_string(job->status.state);
    }
    return lines;
  } catch (const std::exception& error) {
    return {name + "  unreadable: " + error.what()};
  }
}

std::vector<std::string> all_lines(const std::string& job) {
  std::vector<std::string> lines;
  for (const std::string& name : job.empty() ? local::known_jobs() : std::vector<std::string>{job}) {
    for (std::string& line : lines_of(name)) lines.push_back(std::move(line));
  }
  if (lines.empty()) lines.push_back("no jobs in " + local::state_root());
  return lines;
}

}  // namespace

int ask(const std::string& job, const local::Command& command) {
  const local::StateFolder folder(job);
  if (!folder.exists()) return refuse(no_such_job(job));
  if (!folder.claimed()) return refuse("job " + job + " is not running");
  const local::Reply reply = local::send_command(folder, command);
  if (!reply.ok) return refuse("job " + job + ": " + reply.message);
  std::printf("job %s: %s\n", job.c_str(), reply.message.c_str());
  return 0;
}

int top(const std::string& job, bool once) {
  if (!job.empty() && !local::StateFolder(job).exists()) return refuse(no_such_job(job));
  Console console(isatty(STDOUT_FILENO) == 1 && !once);
  if (!console.live()) {
    for (const std::string& line : all_lines(job)) console.line(line);
    return 0;
  }
  for (;;) {  // until Ctrl-C
    console.view(all_lines(job));
    std::this_thread::sleep_for(kRefreshInterval);
  }
}

int history(const std::string& job, bool events) {
  const local::StateFolder folder(job);
  if (!folder.exists()) return refuse(no_such_job(job));
  if (events) {
    std::fputs(folder.read_events().value_or("").c_str(), stdout);
    return 0;
  }
  try {
    const auto state = folder.read();
    if (!state) return refuse(no_such_job(job));
    for (const std::string& line : lines_of(job)) std::printf("%s\n", line.c_str());
    for (const std::string& line : history_lines(*state)) std::printf("%s\n", line.c_str());
    return 0;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

int why(const std::string& job) {
  const local::StateFolder folder(job);
  if (!folder.exists()) return refuse(no_such_job(job));
  try {
    const auto state = folder.read();
    if (!state) return refuse(no_such_job(job));
    const Time now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
    for (const std::string& line : why_lines(*state, now)) std::printf("%s\n", line.c_str());
    return 0;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace emj::cli
