// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/commands.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "operator/api/queue.hpp"
#include "operator/programs/empi/console.hpp"
#include "operator/programs/empi/explain.hpp"
#include "operator/programs/empi/queue_view.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli {

namespace {

constexpr std::chrono::milliseconds kRefreshInterval{1000};

int refuse(const std::string& text) {
  std::fprintf(stderr, "empi: %s\n", text.c_str());
  return 1;
}

std::string no_such_job(const std::string& job) {
  const std::string known = empi::joined(local::known_jobs());
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

// A state that nobody writes any more is not told as if it still held.
void say_if_killed(const ElasticMPIJob& job, bool alive, std::vector<std::string>& lines) {
  if (alive || is_terminal(job.status.state)) return;
  lines.front() =
      job.metadata.name + "  its controller was killed while the job was " + to_string(job.status.state);
}

std::vector<std::string> lines_of(const std::string& name) {
  const local::StateFolder folder(name);
  try {
    const bool alive = folder.claimed();  // before it is read: else who ends meanwhile seems killed
    const auto job = folder.read();
    if (!job) return {name + "  no state"};
    auto lines = view_lines(*job, {}, run_seconds(*job, alive), "");
    say_if_killed(*job, alive, lines);
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

// The runs that go on, by their ids, and which of these jobs are theirs.
std::map<std::string, std::vector<std::string>> runs_of(const std::vector<std::string>& jobs) {
  std::map<std::string, std::vector<std::string>> runs;
  for (const std::string& job : jobs) {
    const local::StateFolder folder(job);
    const auto run = local::read_file(folder.file("run"));
    if (run && folder.claimed()) runs[*run].push_back(job);
  }
  return runs;
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

int submit(const std::string& manifest, const Overrides& given, const std::string& output,
           const std::string& beside) {
  Overrides overrides = given;
  overrides.queued = true;  // else the run refuses what only a queue goes by
  const auto job = read_manifest(manifest, overrides);
  if (!job || !job.violations().empty()) std::fprintf(stderr, "%s", job.message().c_str());
  if (!job) return 2;
  const std::string& name = job.value().metadata.name;
  if (!beside.empty() && !local::StateFolder(beside).claimed())
    return refuse("job " + beside + " is not running: nothing can be added to its run");
  const auto runs = runs_of(beside.empty() ? local::known_jobs() : std::vector<std::string>{beside});
  if (runs.empty())
    return refuse("nothing runs to add job " + name + " to: start it with `empi run " + manifest + "`");
  if (runs.size() > 1)
    return refuse("several runs go on (of " +
                  empi::joined(runs, [](const auto& run) { return run.second.front(); }) +
                  "): say which one by --beside JOB");
  local::Command command{local::Command::Verb::Submit};
  command.submission = {std::filesystem::absolute(manifest), overrides.fields, overrides.arguments,
                        std::filesystem::current_path(),
                        output.empty() ? output : std::filesystem::absolute(output).string()};
  const local::Reply reply = local::send_command(local::StateFolder(runs.begin()->second.front()), command);
  if (!reply.ok) return refuse("job " + name + ": " + reply.message);
  std::printf("job %s: %s\n", name.c_str(), reply.message.c_str());
  return 0;
}

std::vector<std::string> local_queue_lines(const std::string& name) {
  const Time now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  std::vector<std::string> lines;
  for (const auto& [run, names] : runs_of(local::known_jobs())) {
    const local::Reply reply =
        local::send_command(local::StateFolder(names.front()), {local::Command::Verb::Queue});
    if (!reply.ok) continue;
    const auto queue = parse_stored_queue(empi::json_text::try_parse(reply.message));
    if (!queue)
      throw std::runtime_error("the run of job " + names.front() + " tells of its queue: " + queue.message());
    if (!name.empty() && queue.value().metadata.name != name) continue;
    std::vector<ElasticMPIJob> jobs;
    for (const std::string& job : names)
      if (const auto state = local::StateFolder(job).read()) jobs.push_back(*state);
    for (std::string& line : queue_lines(queue.value(), jobs, now)) lines.push_back(std::move(line));
  }
  return lines;
}

int queue(const std::string& name) {
  try {
    const std::vector<std::string> lines = local_queue_lines(name);
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    if (!lines.empty()) return 0;
  } catch (const std::runtime_error& error) {
    return refuse(error.what());
  }
  return refuse((name.empty() ? "no queue here" : "no queue named " + name) +
                ": `empi run A.yaml B.yaml` and `empi run A.yaml --workers N` make one while they run");
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
    const bool alive = folder.claimed();
    const auto state = folder.read();
    if (!state) return refuse(no_such_job(job));
    const Time now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
    auto lines = why_lines(*state, now);
    say_if_killed(*state, alive, lines);
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    return 0;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace emj::cli
