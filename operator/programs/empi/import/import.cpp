// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/import.hpp"

#include "operator/api/parse.hpp"
#include "operator/programs/empi/import/foreign_job.hpp"
#include "operator/programs/empi/import/yaml_text.hpp"

namespace emj::cli {

namespace {

using foreign::ForeignJob;
using foreign::member;
using foreign::Report;
using nlohmann::json;

constexpr const char* kMpiJobs = "kubeflow.org/v2beta1";
constexpr const char* kTrainJobs = "trainer.kubeflow.org/v1alpha1";
constexpr const char* kExpected = "one MPIJob or TrainJob";

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

ForeignJob read(const json& job, const json& runtime, Report& report) {
  const std::string version = text_of(member(job, "apiVersion")), kind = text_of(member(job, "kind"));
  if (kind == "MPIJob" && version == kMpiJobs) return foreign::read_mpi_job(job, report);
  if (kind == "TrainJob" && version == kTrainJobs) return foreign::read_train_job(job, runtime, report);
  if (kind == "MPIJob")
    report.refuse("apiVersion", "is " + version + ", expected " + kMpiJobs,
                  "older forms are converted by the mpi-operator's own guide first");
  else if (kind == "TrainJob")
    report.refuse("apiVersion", "is " + version + ", expected " + kTrainJobs);
  else
    report.refuse("kind", "is " + (kind.empty() ? "missing" : kind) + ", expected " + kExpected);
  return {};
}

}  // namespace

Result<Imported> import_job(const ImportText& from, const ImportText& runtime_from) {
  const auto document = load_yaml(from.text, from.file, kExpected);
  if (!document) return {document.violations(), from.file};
  json runtime;
  if (!runtime_from.file.empty()) {
    const auto loaded = load_yaml(runtime_from.text, runtime_from.file, "one TrainingRuntime");
    if (!loaded) return {loaded.violations(), runtime_from.file};
    runtime = loaded.value().object;
  }
  Report report(document.value().lines);
  const ForeignJob job = read(document.value().object, runtime, report);
  if (!report.refusals.empty()) return {report.refusals, from.file};
  const json object = foreign::elastic_job(job, report);
  if (!report.refusals.empty()) return {report.refusals, from.file};
  Imported imported{yaml_text(object), std::move(report.changes)};
  const auto checked = parse_yaml(imported.manifest, "");
  if (!checked) {
    std::vector<Violation> violations = checked.violations();
    for (Violation& violation : violations) violation.line = 0;  // of a text that nobody has seen
    return {violations, from.file};
  }
  return {std::move(imported), {}, from.file};
}

}  // namespace emj::cli
