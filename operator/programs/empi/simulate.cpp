// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "operator/decide/queue/explain.hpp"
#include "operator/programs/empi/replay.hpp"
#include "operator/programs/empi/simulate_queue.hpp"
#include "operator/simulate/report.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {
namespace {

using empi::format;

template <class Value>
struct Named {
  const char* name;
  Value value;
};

constexpr std::array<Named<queue::Objective>, 4> kObjectives = {{{"fair", queue::Objective::Fair},
                                                                 {"throughput", queue::Objective::Throughput},
                                                                 {"turnaround", queue::Objective::Turnaround},
                                                                 {"makespan", queue::Objective::Makespan}}};
constexpr std::array<Named<queue::Backfill>, 3> kBackfills = {
    {{"easy", queue::Backfill::Easy},
     {"conservative", queue::Backfill::Conservative},
     {"none", queue::Backfill::None}}};

// The command line takes no other names.
template <class Table>
auto by_name(const Table& table, const std::string& name) {
  for (const auto& entry : table)
    if (name == entry.name) return entry.value;
  return table.front().value;
}

// Writes the files of a folder, and says what went wrong with the first that could not be written.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {
    std::error_code problem;
    std::filesystem::create_directories(path_, problem);
    if (problem) trouble_ = "cannot make the folder " + path + ": " + problem.message();
  }

  void write(const char* name, const std::string& text) {
    if (!trouble_.empty()) return;
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    file.close();
    if (!file) trouble_ = "cannot write " + (path_ / name).string();
  }

  const std::string& trouble() const { return trouble_; }

 private:
  std::filesystem::path path_;
  std::string trouble_;
};

// Of the queue, but for what the command line says otherwise.
queue::Rules rules_for(const SimulateOptions& options, queue::Rules rules) {
  if (!options.objective.empty()) rules.objective = by_name(kObjectives, options.objective);
  if (!options.backfill.empty()) rules.backfill = by_name(kBackfills, options.backfill);
  if (options.max_wait >= 0) rules.order.max_wait = Seconds(static_cast<std::int64_t>(options.max_wait));
  return rules;
}

simulate::Result elastic(const simulate::Workload& workload, const SimulateOptions& options,
                         const queue::Rules& rules, bool moldable, std::string* decisions) {
  simulate::ElasticOptions run;
  run.rules = rules;
  run.delay = options.delay;
  run.pause = options.pause;
  run.moldable = moldable;
  run.timeline = decisions != nullptr;
  if (decisions) {
    run.decided = [decisions](Time now, const queue::QueueState& state, const queue::Grant& grant) {
      *decisions += format("%.3f job %s ", queue::seconds_between(simulate::kOrigin, now),
                           state.jobs[grant.job].name.c_str()) +
                    explain(state, grant, now) + "\n";
    };
  }
  return {moldable ? "moldable" : "elastic", run_elastic(workload, run)};
}

void say_what_is_left_out(const simulate::Trace& trace, const simulate::Workload& workload) {
  if (trace.without_size > 0)
    std::printf("left out: %d without a number of processors\n", trace.without_size);
  if (trace.cancelled > 0) std::printf("left out: %d that were cancelled before they ran\n", trace.cancelled);
  if (workload.too_large > 0) std::printf("left out: %d larger than the machine\n", workload.too_large);
}

void say_what_is_met(const simulate::Workload& workload, const std::vector<simulate::Result>& results) {
  std::printf("deadlines met:");
  for (const simulate::Result& result : results)
    std::printf(" %s %.1f %%", result.name.c_str(), 100 * deadlines_met(workload, result.run));
  std::printf("\n");
}

void say_what_it_costs(const simulate::Workload& workload, const std::vector<simulate::Result>& results,
                       double price) {
  std::printf("cost:");
  for (const simulate::Result& result : results)
    std::printf(" %s %.0f", result.name.c_str(), price * summarise(workload, result.run).processor_hours);
  std::printf("\n");
}

}  // namespace

int simulate(const SimulateOptions& options) {
  if (!options.replay.empty()) return replay(options.replay, options.trace);
  auto trace = simulate::read_trace(options.trace);
  if (!trace) {
    std::fprintf(stderr, "empi simulate: %s\n", trace.error().message.c_str());
    return 2;
  }
  TriedQueue tried;
  if (!options.queue.empty()) {
    const auto read = queue_to_try(options.queue);
    if (!read) {
      std::fprintf(stderr, "empi simulate: %s\n", read.error().c_str());
      return 2;
    }
    tried = read.value();
  }
  const queue::Rules rules = rules_for(options, tried.rules);
  const int of_queue_or_trace = tried.processors > 0 ? tried.processors : trace.value().processors;
  const int processors = options.workers > 0 ? options.workers : of_queue_or_trace;
  if (processors == 0) {
    std::fprintf(stderr,
                 "empi simulate: %s: its header has neither MaxProcs nor MaxNodes, so the size of the "
                 "machine is not known: "
                 "give --workers N\n",
                 options.trace.c_str());
    return 2;
  }
  const simulate::Workload workload = make_workload(trace.value(), processors,
                                                    {.malleable_percent = options.malleable,
                                                     .seed = options.seed,
                                                     .floor_percent = options.floor,
                                                     .load = options.load,
                                                     .deadline_factor = options.deadline,
                                                     .jobs = options.jobs,
                                                     .objective = rules.objective});
  if (workload.jobs.empty()) {
    std::fprintf(stderr, "empi simulate: %s: no job fits on %d processors: give a larger --workers\n",
                 options.trace.c_str(), processors);
    return 2;
  }
  std::string decisions;
  std::vector<simulate::Result> results;
  results.push_back({"easy", run_easy(workload)});
  results.push_back(elastic(workload, options, rules, true, nullptr));
  results.push_back(elastic(workload, options, rules, false, options.output.empty() ? nullptr : &decisions));
  const simulate::ScheduleRun& ours = results.back().run;
  std::printf("%d jobs on %d processors; late: ends more than an hour later than under EASY\n",
              static_cast<int>(workload.jobs.size()), processors);
  say_what_is_left_out(trace.value(), workload);
  std::fputs(summary_table(workload, results).c_str(), stdout);
  if (options.deadline > 0) say_what_is_met(workload, results);
  if (options.price > 0) say_what_it_costs(workload, results, options.price);
  if (options.output.empty()) return 0;
  Folder folder(options.output);
  folder.write("summary.json", summary_json(trace.value(), workload, results, options.price));
  folder.write("jobs.csv", jobs_csv(workload, ours));
  for (const simulate::Result& result : results)
    if (&result != &results.back())
      folder.write(("jobs-" + result.name + ".csv").c_str(), jobs_csv(workload, result.run));
  folder.write("timeline.csv", timeline_csv(ours));
  folder.write("decisions.log", decisions);
  folder.write("schedule.swf", schedule_swf(workload, ours));
  if (folder.trouble().empty()) return 0;
  std::fprintf(stderr, "empi simulate: %s\n", folder.trouble().c_str());
  return 1;
}

}  // namespace emj::cli
