// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/learned.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/decide/queue/job_demand.hpp"
#include "operator/decide/queueing.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::queue {
namespace {

using nlohmann::json;

constexpr std::size_t kModels = 64;
constexpr std::size_t kPoints = 16;
constexpr std::size_t kNamespaces = 256;
constexpr int kRuns = 5;       // that are remembered
constexpr double kClaims = 5;  // after about so many that hold the largest overrun is forgotten

template <class Records>
void drop_oldest(Records& records, std::size_t most) {
  if (records.size() <= most) return;
  records.erase(std::ranges::min_element(records, {}, [](const auto& record) { return record.time; }));
}

LearnedModel& model_for(std::vector<LearnedModel>& models, const ElasticMPIJob& job, const std::string& key,
                        Time time) {
  for (LearnedModel& model : models) {
    if (model.namespace_name != job.metadata.namespace_name || model.key != key) continue;
    model.time = std::max(model.time, time);
    return model;
  }
  models.push_back({job.metadata.namespace_name, key, time, 0, 0, {}});
  drop_oldest(models, kModels);
  return models.back();
}

int speed_percent_of(const ElasticMPIJob& job) {
  return job.status.allocation ? job.status.allocation->speed_percent.value_or(100) : 100;
}

void learn_point(LearnedModel& model, const MeasuredSize& measured, int speed_percent) {
  const LearnedPoint point{measured.workers,
                           measured.iteration_seconds,
                           measured.compute_seconds,
                           measured.useful_seconds,
                           measured.work_per_iteration,
                           speed_percent,
                           model.runs,
                           measured.time};
  const auto place = std::ranges::lower_bound(model.points, point.workers, {}, &LearnedPoint::workers);
  if (place == model.points.end() || place->workers != point.workers) {
    model.points.insert(place, point);
    drop_oldest(model.points, kPoints);
  } else if (place->time < point.time) {
    *place = point;
  }
}

// Null where nothing is known.
const LearnedModel* model_of(const std::vector<LearnedModel>& models, const std::string& namespace_name,
                             const std::string& key) {
  const auto found = std::ranges::find_if(models, [&](const LearnedModel& model) {
    return model.key == key && model.namespace_name == namespace_name;
  });
  return found == models.end() ? nullptr : &*found;
}

// What earlier runs of its model took, in seconds at the reference size.
std::optional<double> learned_seconds(const ElasticMPIJob& job, const LearnedModel* model) {
  if (!model || model->runs == 0) return std::nullopt;
  // One that was over at once is no reason to count without end.
  return std::max(1.0, model->worker_seconds / reference_size(job.spec));
}

// A run that takes longer than either its user or its earlier runs have said is a surprise to those that it
// has passed.
std::optional<double> least_expected(const ElasticMPIJob& job, const LearnedModel* model) {
  const auto claimed = said_seconds(job), learned = learned_seconds(job, model);
  return claimed && learned ? std::min(claimed, learned) : claimed ? claimed : learned;
}

}  // namespace

std::string model_key(const JobSpec& spec) {
  if (!spec.scheduling.model.empty()) return spec.scheduling.model;
  const json pod = empi::json_text::try_parse(spec.worker.pod.document);
  const auto first = json::json_pointer("/spec/containers/0");
  std::string what = std::to_string(spec.slots_per_worker);
  if (pod.is_object() && pod.contains(first))
    for (const char* field : {"image", "command", "args"})
      if (pod[first].contains(field)) what += '\n' + pod[first][field].dump();
  return empi::format("%016llx", static_cast<unsigned long long>(empi::fnv1a(what)));
}

void learn_points(std::vector<LearnedModel>& models, const ElasticMPIJob& job) {
  if (job.status.policy_state.measured.empty()) return;
  const std::string key = model_key(job.spec);
  const auto& start = job.status.start_time;
  for (const MeasuredSize& measured : job.status.policy_state.measured) {
    const bool known = measured.iteration_seconds > 0 && measured.compute_seconds > 0;
    // Before it was suspended it may have been another program.
    const bool present = !start || measured.time >= *start;
    if (known && present)
      learn_point(model_for(models, job, key, measured.time), measured, speed_percent_of(job));
  }
}

double run_seconds(const ElasticMPIJob& job, Time end) {
  const auto curve = curve_of(job, Objective::Fair);
  return work_done(job, *curve, end) / curve->speed_of(reference_size(job.spec)) * speed_percent_of(job) /
         100;
}

void learn_end(QueueStatus& status, const ElasticMPIJob& before, const ElasticMPIJob& ended) {
  const auto& to = ended.status.completion_time;
  if (!before.status.start_time || !to || allocated_workers(before.status) == 0) return;
  const double taken = run_seconds(before, *to);
  const bool whole = ended.status.state == JobState::Succeeded;
  const std::string& namespace_name = before.metadata.namespace_name;
  const std::string key = model_key(before.spec);
  // One that was cut short would have taken longer.
  if (const auto said = least_expected(before, model_of(status.models, namespace_name, key));
      said && (whole || taken > *said * overrun_of(status.claims, namespace_name)))
    count_claim(status.claims, namespace_name, *said, taken, *to);
  if (!whole) return;
  LearnedModel& model = model_for(status.models, before, key, *to);
  ++model.runs;
  model.worker_seconds +=
      (taken * reference_size(before.spec) - model.worker_seconds) / std::min(kRuns, model.runs);
  std::erase_if(model.points, [&](const LearnedPoint& point) { return model.runs - point.run > kRuns; });
}

void count_claim(std::vector<ClaimRecord>& claims, const std::string& namespace_name, double claimed,
                 double taken, Time now) {
  const double ratio = std::max(1.0, taken / std::max(1.0, claimed));
  auto record = std::ranges::find(claims, namespace_name, &ClaimRecord::namespace_name);
  if (record == claims.end()) {
    // Honest until shown otherwise.
    if (ratio <= 1) return;
    claims.push_back({namespace_name, 1, now});
    drop_oldest(claims, kNamespaces);
    record = claims.end() - 1;
  }
  // Up at once: what is average among a liar's short and long jobs is still a low claim of the long ones.
  if (ratio > record->overrun)
    record->overrun = ratio;
  else
    record->overrun += (ratio - record->overrun) / kClaims;
  record->time = std::max(record->time, now);
}

double overrun_of(const std::vector<ClaimRecord>& claims, const std::string& namespace_name) {
  const auto record = std::ranges::find(claims, namespace_name, &ClaimRecord::namespace_name);
  return record == claims.end() ? 1 : std::max(1.0, record->overrun);
}

void Lessons::teach(Demand& demand, const ElasticMPIJob& job, const std::string& key,
                    const QueueStatus& status, Objective objective, Time now) {
  Known& known = known_[demand.uid];
  if (known.key != key) known = {key};
  const LearnedModel* model = model_of(status.models, demand.namespace_name, key);
  if (model) {
    if (known.before != demand.curve || known.renewed != model->time) {
      const int present =
          allocated_workers(job.status) > 0 ? allocated_workers(job.status) : demand.reference;
      known.before = demand.curve;
      known.renewed = model->time;
      known.after = curve_over(job, demand.curve->sizes(), present, objective, model);
    }
    demand.curve = known.after;
    for (const LearnedPoint& point : model->points)
      demand.trusted = std::max(demand.trusted, 2 * point.workers);
  }
  std::optional<double> said = learned_seconds(job, model);
  if (!said) said = said_seconds(job);
  if (said) *said *= overrun_of(status.claims, demand.namespace_name);
  demand.work_left = work_left(job, *demand.curve, said, demand.speed, now);
}

}  // namespace emj::queue
