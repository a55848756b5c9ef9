// SPDX-License-Identifier: Apache-2.0
// Finished runs of an external model on disk, so that they need not be done again: by another rank, after a
// rank is lost, or by a later job.
#pragma once
#include <string>

#include "apps/surrogate/external/model.hpp"

namespace surrogate {

/// `model`, whose finished runs are kept in `folder` and found there again, whoever did them and when. Each
/// process appends to a file of its own, one line a run, on disk before the run counts as done; a line that a
/// crash has cut is no run. Runs are found by the bits of their parameters. `identity` is what the runs are
/// of (model.hpp); what it cannot know is whether a program has changed under its name, or a server at its
/// address: then the folder is to be emptied. Throws io::FileError when the folder cannot be made, read or
/// written, or holds runs of another model, of as many parameters and outputs as here or not.
ForwardModel with_journal(ForwardModel model, const std::string& folder, const std::string& identity,
                          int parameters, int outputs);

}  // namespace surrogate
