// SPDX-License-Identifier: Apache-2.0
#include "apps/queue/deadlines.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/report.hpp"

namespace queue_pictures {
namespace {

namespace fs = std::filesystem;
using io::draw::Series;
using io::draw::Style;
using nlohmann::json;

template <class Value>
Series line(const char* name, const std::vector<DueRun>& runs, const Value& value) {
  Series series{.name = name, .x = {}, .y = {}, .style = Style::Line};
  for (const DueRun& run : runs) {
    series.x.push_back(run.deadline);
    series.y.push_back(value(run));
  }
  return series;
}

io::draw::Chart chart_of(const char* title, const char* y_label) {
  io::draw::Chart chart;
  chart.title = title;
  chart.x_label = "deadline, seconds after the job came";
  chart.y_label = y_label;
  chart.y_from_zero = true;
  return chart;
}

}  // namespace

std::vector<DueRun> read_due(const fs::path& folder) {
  const io::Table table(folder / kDeadlines);
  const std::vector<double> deadlines = table.numbers("deadline_s");
  std::vector<DueRun> runs;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    DueRun run;
    run.name = table.texts("run")[i];
    run.deadline = deadlines[i];
    const json summary = io::read_json(folder / run.name / "summary.json");
    if (summary.empty()) continue;
    run.result = summary.value("result", "");
    run.finish = summary.value("finish_s", 0.0);
    run.worker_seconds = summary.value("core_seconds", 0.0);
    for (const json& risk : summary.value("risks", json::array()))
      run.at_risk = run.at_risk || risk.value("type", "") == "DeadlineAtRisk";
    const std::vector<double> ranks = io::Table(folder / run.name / "profile.csv").numbers("ranks");
    if (!ranks.empty()) run.last_workers = ranks.back();
    runs.push_back(std::move(run));
  }
  std::ranges::stable_sort(runs, {}, &DueRun::deadline);
  return runs;
}

json summary_of(const std::vector<DueRun>& runs) {
  json list = json::array();
  for (const DueRun& run : runs)
    list.push_back({{"run", run.name},
                    {"result", run.result},
                    {"deadline_s", run.deadline},
                    {"finish_s", run.finish},
                    {"met", run.met()},
                    {"said_at_risk", run.at_risk},
                    {"worker_seconds", run.worker_seconds},
                    {"mean_workers", run.mean_workers()},
                    {"last_workers", run.last_workers}});
  return {{"runs", std::move(list)}};
}

void write_due(const fs::path& folder, const std::vector<DueRun>& runs) {
  io::draw::Chart times = chart_of("Deadlines and when the job was over", "seconds");
  times.series = {line("deadline", runs, [](const DueRun& run) { return run.deadline; }),
                  line("over", runs, [](const DueRun& run) { return run.finish; })};
  times.series[0].colour = io::draw::kGrey;
  io::draw::write_both(io::draw::render(times), (folder / "deadlines.png").string());
  io::draw::Chart workers = chart_of("Workers that the deadlines took", "workers");
  workers.series = {line("at the end", runs, [](const DueRun& run) { return run.last_workers; }),
                    line("on average", runs, [](const DueRun& run) { return run.mean_workers(); })};
  io::draw::write_both(io::draw::render(workers), (folder / "workers.png").string());
  io::write_text((folder / "summary.json").string(), summary_of(runs).dump(2) + "\n");
}

}  // namespace queue_pictures
