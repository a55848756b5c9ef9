// SPDX-License-Identifier: Apache-2.0
// A job's manifest as empi takes it: the file, with what the command line adds.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/api/result.hpp"

namespace emj::cli {

// What the command line adds to a manifest.
struct Overrides {
  std::vector<std::string> fields;     // "spec.worker.maxReplicas=8"; "spec." may be left out
  std::vector<std::string> arguments;  // appended to the template's args
  bool queued = false;                 // the job will be in a queue, if it names one or not
};

// Where a job comes from and where it works, as the command line says.
struct JobSource {
  std::string manifest;
  Overrides overrides;
  std::string working_directory;  // of its ranks, unless the template names one
  std::string output;             // folder
};

// Manifest, or its text -> checked job. Violations name file and line; those of an override name the
// override. A file is that of a job to be started now: its deadline is still to come.
Result<ElasticMPIJob> read_manifest(const std::string& file, const Overrides& overrides);
Result<ElasticMPIJob> load_manifest(const std::string& text, const std::string& filename,
                                    const Overrides& overrides);

// The text of a file that can be read again; nothing: no_kept_file() says why.
std::optional<std::string> read_kept_file(const std::string& file);
Violation no_kept_file(const std::string& file, const std::string& content);

}  // namespace emj::cli
