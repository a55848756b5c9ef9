// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/replay.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "operator/agents/convert.hpp"
#include "operator/api/requests.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/protocol/json.hpp"

namespace emj::cli {
namespace {

using nlohmann::json;

bool decides(const AutoscalingSpec& spec) {
  return spec.mode != AutoscalingMode::Off && spec.policy.name != PolicyName::Manual;
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::Scale:
    case Verdict::Recommend:
      return "wants";
    case Verdict::Keep:
      return "keeps";
    case Verdict::Wait:
      return "waits";
  }
  return "";
}

// A run that is looked at again, window by window.
class RecordedRun {
 public:
  // A window in which a pod has not reported has fewer workers than the job: its size goes with its epoch.
  RecordedRun(const ElasticMPIJob& job, const std::vector<Sample>& samples) : spec_(job.spec) {
    for (const Sample& sample : samples) {
      int& size = sizes_[sample.epoch];
      size = std::max(size, sample.workers);
    }
    input_.slots = spec_.slots_per_worker;
    input_.min = spec_.worker.min_replicas;
    input_.max = spec_.worker.max_replicas;
    input_.step = spec_.resize.step;
    input_.allowed = spec_.resize.allowed_replicas;
    if (const auto& budget = spec_.scheduling.budget) input_.goals.budget = amount(*budget);
    input_.goals.per_worker_hour = worker_cpus(spec_);
  }

  Verdicts look(const Sample& newest) {
    if (input_.windows.empty()) begin(newest.start);
    if (newest.epoch != epoch_) {
      const int size = sizes_.at(newest.epoch);
      input_.history.push_back({newest.start, input_.current, size, 0, 0, 0});
      epoch_ = newest.epoch;
      input_.current = size;
    }
    input_.goals.spent +=
        input_.current * input_.goals.per_worker_hour * seconds_between(input_.now, newest.end) / 3600;
    input_.now = newest.end;
    input_.windows.push_back(newest);
    return {newest.end, input_.current, autoscale(spec_.autoscaling, input_, state_)};
  }

 private:
  void begin(Time start) {
    input_.now = start;
    input_.goals.deadline = spec_.scheduling.deadline;
    if (const auto& after = spec_.scheduling.deadline_after) input_.goals.deadline = start + *after;
  }

  const JobSpec& spec_;
  std::map<std::int64_t, int> sizes_;  // by epoch
  PolicyInput input_;
  PolicyState state_;
  std::int64_t epoch_ = -1;
};

}  // namespace

std::string window_line(const empi::WindowSample& window) { return json(window).dump() + "\n"; }

empi::Expected<std::vector<empi::WindowSample>, std::string> read_windows(
    const std::filesystem::path& folder) {
  const std::string name = (folder / kWindowsFile).string();
  std::ifstream file(name);
  if (!file) return name + " cannot be read: name the output folder of a run of `empi run`";
  std::vector<empi::WindowSample> windows;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      windows.push_back(empi::json_text::parse(line).get<empi::WindowSample>());
    } catch (const std::exception& error) {
      return name + ":" + std::to_string(number) + ": is no window: " + error.what();
    }
  }
  return windows;
}

std::vector<Verdicts> replay(const ElasticMPIJob& job, const std::vector<empi::WindowSample>& windows) {
  std::vector<Verdicts> verdicts;
  const std::vector<Sample> samples = to_samples(windows, job.spec.autoscaling.window);
  RecordedRun run(job, samples);
  for (const Sample& sample : samples) verdicts.push_back(run.look(sample));
  return verdicts;
}

int replay(const std::string& folder, const std::string& manifest) {
  const Result<ElasticMPIJob> job = read_manifest(manifest, {});
  if (!job) {
    std::fprintf(stderr, "%s\n", job.message().c_str());
    return 2;
  }
  if (!decides(job.value().spec.autoscaling)) {
    std::fprintf(stderr,
                 "empi simulate: %s: spec.autoscaling decides nothing: set mode to Auto or Recommend, and "
                 "another policy than manual\n",
                 manifest.c_str());
    return 2;
  }
  const auto windows = read_windows(folder);
  if (!windows) {
    std::fprintf(stderr, "empi simulate: %s\n", windows.error().c_str());
    return 2;
  }
  const std::vector<Verdicts> verdicts = replay(job.value(), windows.value());
  const Verdicts* before = nullptr;
  int changes = 0;
  std::printf("%10s %8s %6s %8s  %s\n", "time s", "workers", "", "wanted", "why");
  for (const Verdicts& now : verdicts) {
    const bool same = before && before->result.verdict == now.result.verdict &&
                      before->result.wanted == now.result.wanted &&
                      before->result.cause == now.result.cause && before->workers == now.workers;
    before = &now;
    if (same) continue;
    if (now.result.verdict == Verdict::Scale || now.result.verdict == Verdict::Recommend) ++changes;
    std::printf("%10.1f %8d %6s %8d  %s\n", seconds_between(verdicts.front().time, now.time), now.workers,
                word(now.result.verdict), now.result.wanted, now.result.line.c_str());
  }
  std::printf("%zu windows of %lld s, another size was wanted %d times; the sizes are those of the run\n",
              verdicts.size(), static_cast<long long>(job.value().spec.autoscaling.window.count()), changes);
  return 0;
}

}  // namespace emj::cli
