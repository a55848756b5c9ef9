// SPDX-License-Identifier: Apache-2.0
#include "apps/queue/simulated.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/io/draw/chart.hpp"
#include "apps/io/report.hpp"

namespace queue_pictures {
namespace {

namespace fs = std::filesystem;
using io::draw::Chart;
using io::draw::Series;
using io::draw::Style;

constexpr double kHour = 3600, kDay = 86400;
constexpr std::size_t kColumns = 1000;  // of a picture: more values cannot be told apart
constexpr std::size_t kBars = 2000;

// Averages of a step function over equal spans of time.
Series averaged(const std::string& name, const std::vector<double>& times, const std::vector<double>& values,
                double scale) {
  Series series{.name = name, .x = {}, .y = {}, .style = Style::Step};
  if (times.size() < 2) return series;
  const double begin = times.front();
  const double width = std::max(1e-9, (times.back() - begin) / kColumns);
  std::size_t i = 0;
  for (std::size_t column = 0; column < kColumns; ++column) {
    const double from = begin + width * static_cast<double>(column), to = from + width;
    double area = 0;
    for (double at = from; at < to;) {
      while (i + 1 < times.size() && times[i + 1] <= at) ++i;
      const double next = i + 1 < times.size() ? std::min(times[i + 1], to) : to;
      area += values[i] * (next - at);
      at = next;
    }
    series.x.push_back((from - begin) / kDay);
    series.y.push_back(area / width * scale);
  }
  return series;
}

Chart utilisation(const fs::path& folder, double processors) {
  const io::Table timeline(folder / "timeline.csv");
  const std::vector<double> times = timeline.numbers("time");
  Chart chart;
  chart.title = "What is held of the machine, and who waits";
  chart.x_label = "days";
  chart.y_label = "% held";
  chart.right_label = "jobs that wait";
  chart.y_from_zero = true;
  chart.y_range = {0, 105};
  Series held = averaged("held", times, timeline.numbers("held"), 100 / processors);
  held.fill = .25;
  Series waiting = averaged("waiting jobs", times, timeline.numbers("waiting"), 1);
  waiting.right_axis = true;
  waiting.width = 1.2;
  chart.series = {std::move(held), std::move(waiting)};
  return chart;
}

// The share of the jobs that has waited longer, on logarithmic axes: what matters is in the tail.
Series longer_waits(const std::string& name, std::vector<double> waits) {
  std::ranges::sort(waits);
  Series series{.name = name, .x = {}, .y = {}, .style = Style::Step};
  const auto count = static_cast<double>(waits.size());
  const std::size_t every = std::max<std::size_t>(1, waits.size() / kColumns);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] < 1 || (i % every != 0 && i + every < waits.size())) continue;
    series.x.push_back(waits[i] / kHour);
    series.y.push_back(100 * (count - static_cast<double>(i)) / count);
  }
  return series;
}

// Those that were compared, by name, each with the file of its jobs; the one that was looked at is the last.
std::vector<std::pair<std::string, fs::path>> schedules(const fs::path& folder) {
  constexpr std::string_view kHead = "jobs-";
  std::vector<std::pair<std::string, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string name = path.stem().string();
    if (path.extension() == ".csv" && name.starts_with(kHead))
      found.emplace_back(name.substr(kHead.size()), path);
  }
  std::ranges::sort(found);
  found.emplace_back(io::read_json(folder / "summary.json").value("schedule", "elastic"),
                     folder / "jobs.csv");
  return found;
}

Chart waits(const fs::path& folder) {
  Chart chart;
  chart.title = "Who waits longer than that";
  chart.x_label = "hours waited";
  chart.y_label = "% of the jobs";
  chart.log_x = chart.log_y = true;
  for (const auto& [schedule, file] : schedules(folder)) {
    const io::Table jobs(file);
    if (jobs.rows() == 0) continue;
    Series series = longer_waits(schedule, jobs.numbers("wait"));
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart sizes(const fs::path& folder) {
  const io::Table jobs(folder / "jobs.csv");
  Chart chart;
  chart.title = "What jobs had of what they asked for";
  chart.x_label = "processors asked for";
  chart.y_label = "processors held on average";
  chart.log_x = chart.log_y = true;
  std::map<std::string, Series> classes;
  const auto start = jobs.numbers("start"), end = jobs.numbers("end"),
             seconds = jobs.numbers("processor_seconds"), asked = jobs.numbers("processors_requested");
  for (std::size_t i = 0; i < jobs.rows(); ++i) {
    if (end[i] <= start[i]) continue;
    Series& series = classes[jobs.texts("class")[i]];
    series.x.push_back(asked[i]);
    series.y.push_back(seconds[i] / (end[i] - start[i]));
  }
  for (auto& [name, series] : classes) {
    series.name = name;
    series.style = Style::Points;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// One line for each job: grey while it waits, its class' colour while it runs, black from its deadline on.
io::draw::Canvas gantt(const io::Table& jobs) {
  constexpr int kWidth = 1200, kHeight = 800;
  constexpr double kTop = 50, kLeft = 20;
  io::draw::Canvas canvas(kWidth, kHeight);
  const auto submit = jobs.numbers("submit"), start = jobs.numbers("start"), end = jobs.numbers("end");
  const double last = std::max(1.0, *std::ranges::max_element(end));
  const auto x = [&](double seconds) { return kLeft + seconds / last * (kWidth - 2 * kLeft); };
  const double height = (kHeight - kTop - kLeft) / static_cast<double>(jobs.rows());
  const std::vector<double> deadline =
      jobs.has("deadline") ? jobs.numbers("deadline") : std::vector<double>{};
  std::string title = "Jobs from submission to end: grey while they wait, orange when rigid, else blue";
  if (!deadline.empty()) title += "; black when they are late";
  canvas.text({kLeft, 30}, title, {.size = 18, .bold = true});
  for (std::size_t i = 0; i < jobs.rows(); ++i) {
    const double top = kTop + height * static_cast<double>(i), bottom = top + std::max(.5, .85 * height);
    const bool rigid = jobs.texts("class")[i] == "rigid";
    canvas.fill({x(submit[i]), top, x(start[i]), bottom}, io::draw::kGrey, .5);
    canvas.fill({x(start[i]), top, x(end[i]), bottom}, io::draw::category(rigid ? 1 : 0));
    if (!deadline.empty() && end[i] > deadline[i])
      canvas.fill({x(std::max(submit[i], deadline[i])), top, x(end[i]), bottom}, io::draw::kBlack);
  }
  return canvas;
}

}  // namespace

std::vector<fs::path> draw_simulated(const fs::path& folder) {
  std::vector<fs::path> written;
  const auto write = [&](const io::draw::Canvas& canvas, const char* name) {
    io::draw::write_both(canvas, (folder / name).string());
    written.push_back(folder / name);
  };
  const double processors = std::max(1.0, io::read_json(folder / "summary.json").value("processors", 1.0));
  write(io::draw::render(utilisation(folder, processors)), "utilisation.png");
  if (const Chart chart = waits(folder); !chart.series.empty()) write(io::draw::render(chart), "waits.png");
  if (const Chart chart = sizes(folder); !chart.series.empty()) write(io::draw::render(chart), "sizes.png");
  const io::Table jobs(folder / "jobs.csv");
  if (jobs.rows() > 0 && jobs.rows() <= kBars) write(gantt(jobs), "gantt.png");
  return written;
}

}  // namespace queue_pictures
