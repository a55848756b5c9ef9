// SPDX-License-Identifier: Apache-2.0
// What a run leaves in its folder. Written by the rank that keeps the queue, whichever that is.
#pragma once
#include <string>
#include <vector>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate {

/// Makes the folder and removes what an earlier run left there, but not the file `keep`. Throws
/// io::FileError.
void clear_results(const std::string& folder, const std::string& keep = "");

/// What tells a surrogate of this model from one of another: `note` and the parameters' ranges. JSON text.
std::string describe_model(const Problem& problem, const std::string& note);

/// All that the results depend on, in one line: two runs of one description may go on from each other's
/// checkpoints.
std::string describe_run(const Problem& problem, const Settings& settings, const std::string& note);

/// Throws io::FileError when the surrogate in `path` is of another model: descriptions of both.
void check_model(const std::string& path, const std::string& theirs, const std::string& ours);

/// After every phase: progress.json {phase, workers, progress of sampling} for `empi run` and {builds,
/// boundary, reference_points, case and reynolds of the note} for those who draw while the run goes on,
/// phases.csv, and, after a build, surrogate.grid with describe_model() in it. Throws io::FileError.
void write_progress(const std::string& folder, const std::string& note, const Inversion& inversion);

/// At the end: samples.csv (one line per sample: ensemble, parameters, log density), and surrogate.json: what
/// is in `note`, parameters {name, true, mean, sd, quantiles, rhat, ess, mcse}, builds, rates, fingerprint,
/// and what is stuck: an R-hat that is no finite number is null. Returns the names of the parameters that
/// are, for no chain has moved while samples were taken. Throws io::FileError.
std::vector<std::string> write_results(const std::string& folder, const std::string& note,
                                       const Inversion& inversion);

}  // namespace surrogate
