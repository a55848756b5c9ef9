// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "operator/decide/queue/explain.hpp"
#include "operator/programs/empi/replay.hpp"
#include "operator/programs/empi/simulate_files.hpp"
#include "operator/programs/empi/simulate_input.hpp"
#include "operator/simulate/full/full_run.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {
namespace {

using empi::format;

constexpr double kNoise = 10;  // per cent
constexpr std::array<std::string_view, 5> kPolicies = {"easy", "moldable", "elastic", "conservative", "fcfs"};

double noise_of(const SimulateOptions& options) { return options.noise < 0 ? kNoise : options.noise; }

int refused(const std::string& why) {
  std::fprintf(stderr, "empi simulate: %s\n", why.c_str());
  return 2;
}

// EASY is what the others are compared with.
empi::Expected<std::vector<std::string>, std::string> schedules_of(const SimulateOptions& options) {
  std::vector<std::string> names = {"easy"};
  const auto add = [&](const std::string& name) {
    std::erase(names, name);
    names.push_back(name);
  };
  if (options.policies.empty()) {
    add("moldable");
    add("elastic");
  }
  for (const std::string& name : options.policies) {
    if (std::ranges::find(kPolicies, name) == kPolicies.end())
      return "--policy " + name + ": there are " + empi::joined(kPolicies);
    if (name != "easy") add(name);
  }
  if (options.full) add("full");
  return names;
}

simulate::Learn learn_of(const SimulateOptions& options) {
  if (options.learn == "online") return simulate::Learn::Online;
  return options.learn == "never" ? simulate::Learn::Never : simulate::Learn::Oracle;
}

// With --full each job is looked at every 20 simulated seconds: years of a job are hours of waiting here.
std::string too_long_for_full(const simulate::Workload& workload) {
  constexpr double day = 86400, most = 400 * day;
  const auto longest = std::ranges::max_element(workload.jobs, {}, &simulate::Job::run_seconds);
  if (longest == workload.jobs.end() || longest->run_seconds <= most) return {};
  return format(
      "--full: job %s runs for %.0f days, and each job is looked at every 20 s: at most %.0f days of each, "
      "or "
      "leave out --full",
      longest->name.c_str(), longest->run_seconds / day, most / day);
}

simulate::Result run_each(const SimulateInput& input, const SimulateOptions& options,
                          std::string* decisions) {
  simulate::FullOptions full;
  full.queue_name = input.queue.name;
  full.queue = input.queue.spec;
  full.delay = options.delay;
  full.pause = options.pause;
  full.learn = learn_of(options);
  full.noise_percent = noise_of(options);
  full.seed = options.seed;
  full.timeline = decisions != nullptr;
  if (decisions) {
    full.said = [decisions](Time now, const simulate::Job& job, const RecordEvent& event) {
      *decisions += format("%.3f job ", seconds_between(simulate::kOrigin, now)) + job.name + " " +
                    event.reason + ": " + event.message + "\n";
    };
  }
  return {"full", run_full(input.workload, full)};
}

// `decisions`: of the schedule that files are written of, else null.
simulate::Result run(const std::string& name, const SimulateInput& input, const SimulateOptions& options,
                     std::string* decisions) {
  if (name == "easy") {
    simulate::Result easy{name, run_easy(input.workload)};
    if (decisions) *decisions = starts_log(input.workload, easy.run);
    return easy;
  }
  if (name == "full") return run_each(input, options, decisions);
  simulate::ElasticOptions elastic;
  elastic.rules = input.queue.rules;
  elastic.delay = options.delay;
  elastic.pause = options.pause;
  elastic.moldable = name == "moldable";
  elastic.learn = learn_of(options);
  elastic.noise_percent = noise_of(options);
  elastic.seed = options.seed;
  elastic.timeline = decisions != nullptr;
  if (decisions) {
    elastic.decided = [decisions](Time now, const queue::QueueState& state, const queue::Grant& grant) {
      *decisions += format("%.3f job ", seconds_between(simulate::kOrigin, now)) +
                    state.jobs[grant.job].name + " " + explain(state, grant, now) + "\n";
    };
  }
  const bool rigid = name == "fcfs" || name == "conservative";
  if (!rigid) return {name, run_elastic(input.workload, elastic)};
  elastic.rules.backfill = name == "fcfs" ? queue::Backfill::None : queue::Backfill::Conservative;
  return {name, run_elastic(as_rigid(input.workload), elastic)};
}

void say_what_is_left_out(const simulate::Trace& trace, const simulate::Workload& workload) {
  if (trace.without_size > 0)
    std::printf("left out: %d without a number of processors\n", trace.without_size);
  if (trace.without_run_time > 0) std::printf("left out: %d without a run time\n", trace.without_run_time);
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
  if (!options.replay.empty()) {
    if (options.files.size() != 1) return refused("--replay: is of one manifest: give one file");
    return replay(options.replay, options.files.front());
  }
  const auto names = schedules_of(options);
  if (!names) return refused(names.error());
  if (options.noise >= 0 && options.learn != "online")
    return refused("--noise: is of sizes that are measured: add --learn online");
  if (options.full && options.learn == "never")
    return refused("--learn never: with --full jobs measure as they do on a cluster: give online or oracle");
  const auto read = read_input(options);
  if (!read) return refused(read.error());
  const SimulateInput& input = read.value();
  const simulate::Workload& workload = input.workload;
  if (options.full)
    if (const std::string trouble = too_long_for_full(workload); !trouble.empty()) return refused(trouble);
  if (!options.output.empty()) {
    const std::string trouble = make_folder(options.output);
    if (!trouble.empty()) return refused("--out: " + trouble);
  }
  std::string decisions;
  std::vector<simulate::Result> results;
  for (const std::string& name : names.value()) {
    const bool written = !options.output.empty() && name == names.value().back();
    results.push_back(run(name, input, options, written ? &decisions : nullptr));
  }
  std::printf("%d jobs on %d processors; late: ends more than an hour later than under EASY\n",
              static_cast<int>(workload.jobs.size()), workload.processors);
  say_what_is_left_out(input.trace, workload);
  std::fputs(summary_table(workload, results).c_str(), stdout);
  if (workload.deadlines()) say_what_is_met(workload, results);
  if (options.price > 0) say_what_it_costs(workload, results, options.price);
  if (options.output.empty()) return 0;
  const std::string trouble =
      write_files(options.output, input.trace, workload, results, decisions, options.price);
  if (trouble.empty()) return 0;
  std::fprintf(stderr, "empi simulate: %s\n", trouble.c_str());
  return 1;
}

}  // namespace emj::cli
