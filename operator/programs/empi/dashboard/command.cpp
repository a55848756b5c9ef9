// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/dashboard/command.hpp"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "operator/local/state_folder.hpp"
#include "operator/objects/pods.hpp"
#include "operator/programs/empi/commands.hpp"
#include "operator/programs/empi/dashboard/server.hpp"
#include "operator/programs/empi/queue_view.hpp"
#include "operator/programs/empi/running_job.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli::dashboard {

namespace {

constexpr std::size_t kMostSplits = 50;  // requests of one look

Time present() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

// Until Ctrl-C.
[[noreturn]] void show(int port, const std::function<Looked()>& look) {
  SizesSeen seen;
  const Server server(port, [&] {
    const Looked looked = look();
    const Time now = present();
    seen.look(looked.jobs, now);
    return empi::json_text::safe_text(page_data(looked, seen, now));
  });
  std::printf("%s\n", server.address().c_str());
  std::fflush(stdout);
  for (;;) pause();
}

ElasticMPIJob unreadable(const std::string& name, const std::string& reason) {
  ElasticMPIJob job;
  job.metadata.name = job.metadata.uid = name;
  job.status.reason = reason;
  return job;
}

ElasticMPIJob local_job(const local::StateFolder& folder, const std::string& name) {
  try {
    auto job = folder.read();
    if (!job) return unreadable(name, "no state");
    if (job->metadata.uid.empty()) job->metadata.uid = name;
    if (!is_terminal(job->status.state) && !folder.claimed())
      job->status.reason = "its controller was killed";
    return *job;
  } catch (const std::exception& error) {
    return unreadable(name, error.what());
  }
}

std::optional<Split> local_split(const local::StateFolder& folder) {
  if (!folder.claimed()) return std::nullopt;
  const auto text = local::read_file(folder.file(kFiguresFile));
  const auto figures = empi::json_text::try_parse(text.value_or(""));
  const auto share = [&](const char* name) {
    return figures.is_object() && figures.contains(name) && figures[name].is_number()
               ? std::optional(figures[name].get<double>())
               : std::nullopt;
  };
  const auto efficiency = share("efficiency"), balance = share("loadBalance"),
             communication = share("communication");
  if (!efficiency || !balance || !communication) return std::nullopt;
  return Split{*efficiency, *balance, *communication};
}

// Those that the jobs name; why they cannot be read, where they cannot: the jobs are shown all the same.
std::vector<std::string> lines_of_queues(ClusterAccess& access, const std::vector<ElasticMPIJob>& jobs,
                                         bool namespaces) {
  std::set<std::string> named;
  for (const ElasticMPIJob& job : jobs) named.insert(job.spec.scheduling.queue_name);
  named.erase("");
  if (named.empty()) return {};
  std::vector<std::string> lines;
  try {
    for (const ElasticQueue& queue : access.queues())
      if (named.contains(queue.metadata.name))
        for (std::string& line : queue_lines(queue, jobs, present(), namespaces))
          lines.push_back(std::move(line));
  } catch (const Refusal& refusal) {
    lines = {refusal.what()};
  }
  return lines;
}

}  // namespace

Looked look_at_local_jobs() {
  Looked looked{.where = "local jobs in " + local::state_root()};
  for (const std::string& name : local::known_jobs()) {
    const local::StateFolder folder(name);
    const ElasticMPIJob& job = looked.jobs.emplace_back(local_job(folder, name));
    if (const auto split = local_split(folder)) looked.splits[job.metadata.uid] = *split;
  }
  looked.queues = local_queue_lines("");
  return looked;
}

Looked look_at_cluster(ClusterAccess& access, const ClusterOptions& options) {
  Looked looked{.where = access.client().config().origin + (options.all_namespaces
                                                                ? std::string(", all namespaces")
                                                                : ", namespace " + access.namespace_name()),
                .jobs = access.jobs(options.all_namespaces)};
  looked.queues = lines_of_queues(access, looked.jobs, options.all_namespaces);
  for (const ElasticMPIJob& job : looked.jobs) {
    const JobState state = job.status.state;
    if ((state != JobState::Running && state != JobState::Resizing) || job.status.lead_pod.empty()) continue;
    const auto metrics =
        access.client().get_text("/api/v1/namespaces/" + job.metadata.namespace_name + "/pods/" +
                                 job.status.lead_pod + ":" + std::to_string(kMetricsPort) + "/proxy/metrics");
    if (!metrics && metrics.error().kind == kube::ApiError::Kind::Forbidden)
      break;  // the role view has no proxy
    if (!metrics) continue;
    if (const auto split = split_in(metrics.value())) looked.splits[job.metadata.uid] = *split;
    if (looked.splits.size() >= kMostSplits) break;
  }
  return looked;
}

int show_local_jobs(int port) { show(port, look_at_local_jobs); }

int show_cluster(int port, ClusterAccess& access, const ClusterOptions& options) {
  static_cast<void>(access.jobs(options.all_namespaces));  // what is wrong from the beginning ends it
  show(port, [&] { return look_at_cluster(access, options); });
}

}  // namespace emj::cli::dashboard
