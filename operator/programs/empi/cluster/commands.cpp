// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/commands.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "operator/programs/empi/console.hpp"
#include "operator/programs/empi/explain.hpp"
#include "operator/programs/empi/queue_view.hpp"
#include "operator/programs/empi/table.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli::cluster {

namespace {

using nlohmann::json;

constexpr Seconds kRefresh{2};
// Of the core group: whoever may look at a namespace may read these.
const kube::Resource kEvents{"", "v1", "events", "Event"};

Time present() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

std::size_t terminal_height() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 3 ? size.ws_row : 24;
}

void print(const std::vector<std::string>& lines, std::ostream& out) {
  for (const std::string& line : lines) out << printable(line) << '\n';
  out.flush();
}

class Top {
 public:
  Top(ClusterAccess& access, std::string job, bool all_namespaces)
      : access_(access), job_(std::move(job)), all_(all_namespaces) {}

  std::vector<std::string> lines() {
    std::vector<ElasticMPIJob> jobs;
    if (job_.empty())
      jobs = access_.jobs(all_);
    else
      jobs.push_back(access_.job(job_));
    const Time now = present();
    seen_.look(jobs, now);
    if (!jobs.empty()) return job_table(jobs, seen_, now, all_);
    return {all_ ? std::string("no jobs in the cluster")
                 : "no jobs in namespace " + access_.namespace_name() + "; -A shows those of all namespaces"};
  }

 private:
  ClusterAccess& access_;
  const std::string job_;
  const bool all_;
  SizesSeen seen_;
};

// What a terminal can show: what does not fit could not be erased again.
void fit(std::vector<std::string>& lines, std::size_t height) {
  for (std::string& line : lines) line = printable(std::move(line));
  if (lines.size() <= height) return;
  const std::size_t left_out = lines.size() - height + 1;
  lines.resize(height - 1);
  lines.push_back("... and " + std::to_string(left_out) + " more");
}

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string event_time(const json& event) {
  const json& series = event.value("series", json::object());
  for (const std::string& time : {series.is_object() ? text_of(series, "lastObservedTime") : std::string(),
                                  text_of(event, "lastTimestamp"), text_of(event, "eventTime")})
    if (time.size() >= 19) return time.substr(0, 19);
  return "at an unknown time ";
}

void print_events(ClusterAccess& access, const ElasticMPIJob& job, std::ostream& out) {
  kube::ListOptions options;
  options.field_selector = "involvedObject.uid=" + job.metadata.uid;
  const auto events = access.client().list(kEvents, access.namespace_name(), options);
  if (!events) throw access.refusal(events.error());
  std::vector<std::string> lines;
  for (const json& event : events.value().items)
    lines.push_back(event_time(event) + "  " + text_of(event, "reason") + "  " + text_of(event, "message"));
  std::ranges::sort(lines);
  if (lines.empty()) lines.push_back("no events: a cluster keeps them for an hour only");
  print(lines, out);
}

}  // namespace

void top(ClusterAccess& access, const std::string& job, bool all_namespaces, bool live, std::ostream& out) {
  if (all_namespaces && !job.empty()) throw Refusal("top " + job + " -A: name a job or ask for all");
  Top top(access, job, all_namespaces);
  if (!live) return print(top.lines(), out);
  Console console(true);
  std::vector<std::string> lines = top.lines();  // what is wrong from the beginning ends it
  for (;;) {
    fit(lines, terminal_height() - 1);
    console.view(lines);
    std::this_thread::sleep_for(kRefresh);
    try {
      lines = top.lines();
    } catch (const Refusal& problem) {
      if (!problem.may_pass()) throw;
      lines = {std::string("not refreshed: ") + problem.what()};
    }
  }
}

void queue(ClusterAccess& access, const std::string& name, bool all_namespaces, std::ostream& out) {
  const std::vector<ElasticQueue> queues = access.queues();
  const std::vector<ElasticMPIJob> jobs = access.jobs(all_namespaces);
  std::string known;
  bool any = false;
  for (const ElasticQueue& queue : queues) {
    known += (known.empty() ? "" : ", ") + queue.metadata.name;
    if (!name.empty() && queue.metadata.name != name) continue;
    print(queue_lines(queue, jobs, present(), all_namespaces), out);
    any = true;
  }
  if (any) return;
  if (queues.empty()) throw Refusal("no ElasticQueue in the cluster of " + access.client().config().origin);
  throw Refusal("no ElasticQueue named " + name + "; there: " + known);
}

void history(ClusterAccess& access, const std::string& name, bool events, std::ostream& out) {
  const ElasticMPIJob job = access.job(name);
  if (events) return print_events(access, job, out);
  SizesSeen nothing;
  print(job_table({job}, nothing, present(), false), out);
  print(history_lines(job), out);
}

void why(ClusterAccess& access, const std::string& name, std::ostream& out) {
  print(why_lines(access.job(name), present()), out);
}

}  // namespace emj::cli::cluster
