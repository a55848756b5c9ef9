// SPDX-License-Identifier: Apache-2.0
// Where, how often and of what checkpoints are: what the job says (spec.checkpoint, by environment variables)
// goes before what the program says.
#pragma once
#include <cstdint>
#include <string>

#include "runtime/checkpoint/cadence.hpp"

namespace elastic {

namespace checkpoint = empi::checkpoint;

struct CheckpointSettings {
  /// every: iterations between two, where the job says no seconds; 0: by what one costs. folder: may be
  /// empty.
  CheckpointSettings(std::int64_t every, std::string folder);

  bool wanted() const { return !folder.empty() || !from.empty(); }
  std::string path_of(const std::string& name) const { return folder + "/" + name; }
  /// Of so many ranks.
  int nodes(int ranks) const { return (ranks + slots - 1) / slots; }

  std::string folder;   ///< empty: none are written
  std::string from;     ///< the file that the job is to go on from; empty: the newest in the folder
  std::string program;  ///< whose they are
  int keep = 2, slots = 1;
  checkpoint::Cadence cadence;
};

}  // namespace elastic
