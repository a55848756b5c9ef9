// SPDX-License-Identifier: Apache-2.0
// The shared-memory pages of this pod's ranks: made here, mapped by ranks and readers.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/page.hpp"
#include "runtime/protocol/probe_marks.hpp"
#include "runtime/protocol/start.hpp"

namespace empi::agent {

class RankPages {
 public:
  explicit RankPages(std::string folder) : folder_(std::move(folder)) {}
  ~RankPages();
  RankPages(const RankPages&) = delete;
  RankPages& operator=(const RankPages&) = delete;

  std::string path(const ProcId& proc) const;
  // Makes and maps an empty page (magic 0 until the rank has filled it in). Throws std::system_error.
  void create(const ProcId& proc);
  void remove(const ProcId& proc);
  Page* find(const ProcId& proc);

  // Those of the ranks whose probes decide about an iteration.
  std::vector<ProcId> probing(const std::vector<ProcId>& procs, ProbeMode mode);
  // Highest probe count of the ranks.
  std::uint64_t highest_probe(const std::vector<ProcId>& procs);
  // Where the ranks' probes stand, each kind once.
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>& procs);
  // Proposes iteration `k` to the ranks (decision R2). `joiners_precede`: those who joined by the last commit
  // have made a probe more than the others when they are there. False when one of them is past it already;
  // then no rank is armed any more. Where the root alone probes, the others are armed for whichever probe is
  // their next: it is the root that calls them to it.
  bool arm(const std::vector<ProcId>& procs, std::uint64_t k, bool joiners_precede, ProbeMode mode);
  // The iteration that a rank was armed for holds; one that was not (a joiner) hears that it was `k`.
  void confirm(const std::vector<ProcId>& procs, std::uint64_t k);
  void set(const std::vector<ProcId>& procs, std::uint64_t word);
  // Tells the ranks that a change goes on, or that none does.
  void set_changing(const std::vector<ProcId>& procs, bool changing);

 private:
  const std::string folder_;
  std::map<ProcId, Page*> pages_;
};

}  // namespace empi::agent
