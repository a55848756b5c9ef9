// SPDX-License-Identifier: Apache-2.0
// Which calls of MPI_Probe_adapt on different ranks are the same one (decision R2').
//
// Ranks count their probes from each commit on. Stayers come to it in the call that told them of the change,
// joiners by MPI_Comm_adapt_begin: in a program that probes at the top of its loop a joiner's first probe
// stands for that call and is one too many; in one that probes at the end it is as good as the others'. The
// program need not say which it is. Collective calls over the whole world are made in the same order by all
// ranks, so how many a rank has made at a probe tells where in the program that probe stands.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"

namespace empi {

// What the page of a rank says of its probes since the last commit (or since its start). A collective call
// counts when it is over all ranks of the world, on MPI_COMM_WORLD or another communicator.
struct ProbeMark {
  ProcId rank;
  std::uint64_t probes = 0;
  bool joined = false;         // by the last commit
  bool aligned = false;        // it says that its first probe is the others' first one, too
  bool communicated = false;   // before the first probe and since the last collective call that counts
  std::uint64_t first = 0;     // collective calls before the first probe
  std::uint64_t grown_at = 0;  // the first probe before which there were more, 0: not yet
  std::uint64_t grown = 0;     // and how many
  // Calls of any kind before the first and the second probe; 0 where the others tell more.
  std::uint64_t calls_at_first = 0, calls_at_second = 0;

  static void describe(auto& m, auto&& field) {
    field("rank", m.rank);
    field("probes", m.probes);
    field("joined", m.joined);
    field("aligned", m.aligned);
    field("communicated", m.communicated);
    field("first", m.first);
    field("grownAt", m.grown_at);
    field("grown", m.grown);
    field("callsAtFirst", m.calls_at_first);
    field("callsAtSecond", m.calls_at_second);
  }
};

// Keeps one mark of those that differ in nothing but the rank: the rank with the fewest probes.
void add_mark(std::vector<ProbeMark>& marks, const ProbeMark& mark);

enum class ProbeMatch {
  Unknown,   // more probes will tell
  Doubtful,  // more probes may tell, but these do not look as if they would
  Counts,    // all first probes are the same call
  Precedes,  // the joiners' first probe comes before the others' first one
  Mismatch   // the ranks do not probe at the same places
};
struct ProbeAgreement {
  ProbeMatch match = ProbeMatch::Unknown;
  std::string why;  // in words, when it is none of Counts and Precedes
};

// Of all ranks of the world. Without collective calls between the probes it goes by whether ranks have
// communicated otherwise, and where they have not by how often they call MPI at all (asking for the rank,
// say), but only when every rank has probed this often:
inline constexpr std::uint64_t kProbesWithoutCollectives = 3;
ProbeAgreement agree_on_probes(const std::vector<ProbeMark>& marks);

}  // namespace empi
