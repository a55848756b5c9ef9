// SPDX-License-Identifier: Apache-2.0
#include "apps/queue/shared.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/report.hpp"

namespace queue_pictures {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

SharedJob read_job(const fs::path& folder, const json& summary) {
  SharedJob job;
  job.name = summary.value("job", folder.filename().string());
  job.result = summary.value("result", "");
  job.start = summary.value("start_time_s", 0.0);
  for (const json& change : summary.value("changes", json::array()))
    job.changes += change.value("outcome", "") == "committed";
  const io::Table profile(folder / "profile.csv");
  const std::vector<double> times = profile.numbers("time_s"), ranks = profile.numbers("ranks");
  // A line is of the window that ends then; before the first one it waits. Windows may be missing, so that
  // the closest lines tell how long one is.
  double width = times.empty() ? 0 : times.front();
  for (std::size_t i = 1; i < times.size(); ++i) width = std::min(width, times[i] - times[i - 1]);
  double before = times.empty() ? 0 : times.front() - width;
  if (before > 0) {
    job.seconds.push_back(job.start);
    job.workers.push_back(0);
  }
  for (std::size_t i = 0; i < profile.rows(); ++i) {
    job.seconds.push_back(job.start + before);
    job.workers.push_back(ranks[i]);
    before = times[i];
  }
  job.end = job.start + std::max(before, summary.value("run_time_s", 0.0));
  job.seconds.push_back(job.end);
  job.workers.push_back(0);
  return job;
}

double workers_at(const SharedJob& job, double time) {
  const auto after = std::ranges::upper_bound(job.seconds, time);
  if (after == job.seconds.begin()) return 0;
  return job.workers[static_cast<std::size_t>(after - job.seconds.begin()) - 1];
}

double worker_seconds(const SharedJob& job) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < job.seconds.size(); ++i)
    sum += job.workers[i] * (job.seconds[i + 1] - job.seconds[i]);
  return sum;
}

// Areas one upon the other: the highest is drawn first, and the ones below over it.
io::draw::Chart profile_of(const std::vector<SharedJob>& jobs) {
  std::set<double> moments;
  for (const SharedJob& job : jobs) moments.insert(job.seconds.begin(), job.seconds.end());
  io::draw::Chart chart;
  chart.title = "Who has which part of the machine";
  chart.x_label = "seconds since the first job came";
  chart.y_label = "workers";
  chart.y_from_zero = true;
  std::vector<double> sum(moments.size(), 0);
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    io::draw::Series series{.name = jobs[k].name, .x = {}, .y = {}, .style = io::draw::Style::Step};
    std::size_t i = 0;
    for (const double moment : moments) {
      sum[i] += workers_at(jobs[k], moment);
      series.x.push_back(moment - *moments.begin());
      series.y.push_back(sum[i++]);
    }
    series.colour = io::draw::category(k);
    series.fill = 1;
    chart.series.insert(chart.series.begin(), std::move(series));
  }
  return chart;
}

}  // namespace

std::vector<SharedJob> read_shared(const fs::path& folder) {
  std::vector<SharedJob> jobs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || !fs::exists(entry.path() / "profile.csv")) continue;
    const json summary = io::read_json(entry.path() / "summary.json");
    if (!summary.empty()) jobs.push_back(read_job(entry.path(), summary));
  }
  std::ranges::sort(jobs, [](const SharedJob& a, const SharedJob& b) {
    return a.start != b.start ? a.start < b.start : a.name < b.name;
  });
  return jobs;
}

json summary_of(const std::vector<SharedJob>& jobs) {
  json summary{{"jobs", json::array()}};
  double begin = 0, last = 0, turnaround = 0, held = 0;
  for (const SharedJob& job : jobs) {
    if (summary["jobs"].empty()) begin = job.start;
    last = std::max(last, job.end);
    turnaround += job.end - job.start;
    held += worker_seconds(job);
    const auto most = std::ranges::max_element(job.workers);
    summary["jobs"].push_back({{"job", job.name},
                               {"result", job.result},
                               {"queued_s", job.start - begin},
                               {"end_s", job.end - begin},
                               {"worker_seconds", worker_seconds(job)},
                               {"most_workers", most == job.workers.end() ? 0 : *most},
                               {"changes", job.changes}});
  }
  summary["makespan_s"] = last - begin;
  summary["mean_turnaround_s"] = jobs.empty() ? 0 : turnaround / static_cast<double>(jobs.size());
  summary["worker_seconds"] = held;
  return summary;
}

void write_shared(const fs::path& folder, const std::vector<SharedJob>& jobs) {
  io::draw::write_both(io::draw::render(profile_of(jobs)), (folder / "profile.png").string());
  io::write_text((folder / "summary.json").string(), summary_of(jobs).dump(2) + "\n");
}

}  // namespace queue_pictures
