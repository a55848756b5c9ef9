// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate_input.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "operator/local/process.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {
namespace {

using Words = std::string;  // what is wrong

template <class Value>
struct Named {
  const char* name;
  Value value;
};

constexpr std::array<Named<QueueObjective>, 4> kObjectives = {{{"fair", QueueObjective::Fair},
                                                               {"throughput", QueueObjective::Throughput},
                                                               {"turnaround", QueueObjective::Turnaround},
                                                               {"makespan", QueueObjective::Makespan}}};
constexpr std::array<Named<BackfillMode>, 3> kBackfills = {{{"easy", BackfillMode::Easy},
                                                            {"conservative", BackfillMode::Conservative},
                                                            {"none", BackfillMode::None}}};

// The command line takes no other names.
template <class Table>
auto by_name(const Table& table, const std::string& name) {
  for (const auto& entry : table)
    if (name == entry.name) return entry.value;
  return table.front().value;
}

// What the command line says otherwise than the queue.
void overrule(TriedQueue& queue, const SimulateOptions& options) {
  QueueSpec& spec = queue.spec;
  if (!options.objective.empty()) spec.objective = by_name(kObjectives, options.objective);
  if (!options.backfill.empty()) spec.backfill = by_name(kBackfills, options.backfill);
  if (options.max_wait >= 0) spec.order.max_wait = Seconds(static_cast<std::int64_t>(options.max_wait));
  queue.rules = queue::rules_of(spec);
}

struct Manifest {
  std::string file;
  double after = 0;  // seconds
};

bool ends_with_any(const std::string& text, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return text.ends_with(ending); });
}

bool is_manifest(const std::string& file) { return ends_with_any(file, {".yaml", ".yml", ".json"}); }

struct Files {
  std::string trace;  // empty: none
  std::vector<Manifest> manifests;
};

empi::Expected<Files, Words> sorted_out(const std::vector<std::string>& names) {
  Files files;
  for (const std::string& name : names) {
    const std::size_t at = name.rfind('@');
    if (at != std::string::npos && is_manifest(name.substr(0, at))) {
      double after = 0;
      const char* const end = name.data() + name.size();
      const auto [read, problem] = std::from_chars(name.data() + at + 1, end, after);
      if (problem != std::errc() || read != end || !(after >= 0 && after <= 1e9))
        return name + ": after @ comes when the job arrives, in seconds, as in " + name.substr(0, at) + "@60";
      files.manifests.push_back({name.substr(0, at), after});
    } else if (is_manifest(name)) {
      files.manifests.push_back({name, 0});
    } else if (files.trace.empty()) {
      files.trace = name;
    } else {
      return name + ": a simulation is of one trace, and " + files.trace +
             " is one: leave one of them (manifests end with .yaml, .yml or .json)";
    }
  }
  return files;
}

std::string one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

empi::Expected<std::vector<simulate::Arrival>, Words> read_arrivals(const std::vector<Manifest>& manifests) {
  std::vector<simulate::Arrival> arrivals;
  std::set<std::string> names;
  for (const Manifest& manifest : manifests) {
    const auto text = local::read_file(manifest.file);
    if (!text) return manifest.file + ": cannot be read; it is to be a file with an ElasticMPIJob manifest";
    const auto job = load_manifest(*text, manifest.file, {{}, {}, true});
    if (!job) return one_line(job.message());
    const std::string& name = job.value().metadata.name;
    if (!names.insert(name).second)
      return manifest.file + ": metadata.name: there is another job '" + name + "': give each its own name";
    arrivals.push_back({job.value(), manifest.after});
  }
  return arrivals;
}

// All jobs are in one queue, those too that name none.
Words into_queue(std::vector<simulate::Arrival>& arrivals, const std::vector<Manifest>& manifests,
                 TriedQueue& queue) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    std::string& named = arrivals[i].job.spec.scheduling.queue_name;
    if (!named.empty() && queue.name.empty()) queue.name = named;
    if (!named.empty() && named != queue.name)
      return manifests[i].file + ": spec.scheduling.queueName: '" + named +
             "', and the simulated queue is '" + queue.name + "': name that one, or none";
  }
  if (queue.name.empty()) queue.name = "main";
  for (simulate::Arrival& arrival : arrivals) arrival.job.spec.scheduling.queue_name = queue.name;
  return "";
}

empi::Expected<simulate::SpeedupModel, Words> speedup_of(const SimulateOptions& options) {
  simulate::SpeedupModel model;
  if (options.speedup.ends_with(".csv")) {
    const auto text = local::read_file(options.speedup);
    if (!text) return options.speedup + ": cannot be read; it is to be a file with the columns workers,speed";
    auto read = simulate::SpeedupModel::parse_table(*text, options.speedup);
    if (!read) return read;
    model = read.value();
  } else if (!options.speedup.empty()) {
    auto read = simulate::SpeedupModel::parse(options.speedup);
    if (!read) return read;
    model = read.value();
  }
  if (options.spread > 0 && !model.spreads())
    return Words(
        "--spread: is of the efficiencies of Amdahl's law: leave it out, or give --speedup amdahl:.8");
  return model;
}

// Of the machine; 0: nobody says.
int processors_of(const SimulateOptions& options, const TriedQueue& queue, const simulate::Trace& trace) {
  if (options.workers > 0) return options.workers;
  return queue.processors > 0 ? queue.processors : trace.processors;
}

// A queue of one pool that has so many.
void set_size(QueueSpec& spec, int processors) {
  if (spec.pools.empty()) spec.pools.emplace_back().name = "machine";
  PoolSpec& pool = spec.pools.front();
  pool.capacity = PoolCapacity::Quota;
  pool.quota.cpu = Quantity{std::to_string(processors)};
  pool.headroom = {};
}

Words wrong_size(const Files& files) {
  if (files.trace.empty())
    return "how many processors the machine has is not known: give --workers N, or --queue FILE";
  return files.trace +
         ": its header has neither MaxProcs nor MaxNodes, so the size of the machine is not known: "
         "give --workers N";
}

}  // namespace

empi::Expected<SimulateInput, Words> read_input(const SimulateOptions& options) {
  const auto files = sorted_out(options.files);
  if (!files) return files.error();
  const Files& given = files.value();
  SimulateInput input;
  if (!given.trace.empty()) {
    auto trace = simulate::read_trace(given.trace);
    if (!trace) return trace.error().message;
    input.trace = std::move(trace.value());
  }
  if (!options.queue.empty()) {
    auto read = queue_to_try(options.queue);
    if (!read) return read.error();
    input.queue = std::move(read.value());
  }
  overrule(input.queue, options);
  const auto speedup = speedup_of(options);
  if (!speedup) return speedup.error();
  const int processors = processors_of(options, input.queue, input.trace);
  if (processors == 0) return wrong_size(given);
  set_size(input.queue.spec, processors);
  input.workload = make_workload(input.trace, processors,
                                 {.malleable_percent = options.malleable,
                                  .seed = options.seed,
                                  .floor_percent = options.floor,
                                  .load = options.load,
                                  .deadline_factor = options.deadline,
                                  .jobs = options.jobs,
                                  .objective = input.queue.rules.objective,
                                  .speedup = speedup.value(),
                                  .spread_percent = options.spread});
  if (input.workload.jobs.empty() && !given.trace.empty())
    return given.trace + empi::format(": no job fits on %d processors: give a larger --workers", processors);
  auto arrivals = read_arrivals(given.manifests);
  if (!arrivals) return arrivals.error();
  const Words wrong_queue = into_queue(arrivals.value(), given.manifests, input.queue);
  if (!wrong_queue.empty()) return wrong_queue;
  // When the trace begins is when its first job comes, whatever manifests come before others.
  const simulate::Workload of_trace = input.workload;
  for (std::size_t i = 0; i < arrivals.value().size(); ++i) {
    auto job =
        job_of(arrivals.value()[i], of_trace, input.queue.spec, input.queue.rules.objective, options.full);
    if (!job) return given.manifests[i].file + ": " + job.error();
    add(input.workload, std::move(job.value()));
  }
  return input;
}

}  // namespace emj::cli
