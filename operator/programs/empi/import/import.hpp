// SPDX-License-Identifier: Apache-2.0
// Jobs of others as ElasticMPIJob: MPIJob of kubeflow.org/v2beta1, and TrainJob of
// trainer.kubeflow.org/v1alpha1 with an MPI runtime. Pure. The forms are those of mpi-operator 0.8.2 and
// trainer 2.3.0.
#pragma once
#include <string>
#include <vector>

#include "operator/api/result.hpp"

namespace emj::cli {

struct ImportText {
  std::string text, file;
};

struct Imported {
  std::string manifest;            // YAML, accepted by operator/api
  std::vector<Violation> changes;  // what is not as it was, and why
};

// `runtime` is that of a TrainJob; without a file, what the TrainJob says has to do. What cannot be carried
// over refuses the job.
Result<Imported> import_job(const ImportText& job, const ImportText& runtime = {});

}  // namespace emj::cli
