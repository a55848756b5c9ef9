// SPDX-License-Identifier: Apache-2.0
// Which of Open MPI's help messages a user can do something about. Each has a name, its help file and topic,
// by which it comes through PMIx; by that it is told, not by its words. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace empi::agent {

// Open MPI's help messages have names, file and topic, by which they come through PMIx.
// Whether this one is about what the runtime takes care of: connections between ranks, while they join, leave
// or die; and fault tolerance, which the runtime has asked for. Such messages are kept, and shown when their
// rank fails (Output).
bool is_the_runtimes(std::string_view help_file, std::string_view topic);

// Two parts of Open MPI print to stderr past every setting: non-blocking collectives what ends them, again
// and again where they are begun anew (quirk cid-retries), and btl/tcp what goes wrong with a connection.
// These lines alone are told by how they begin.
class PrintedByMpi {
 public:
  // Takes those lines out of `lines`, of one stream, and returns them.
  std::vector<std::string> take(std::vector<std::string>& lines);

 private:
  bool blank_follows_ = false;  // those of collectives end with an empty line
};

}  // namespace empi::agent
