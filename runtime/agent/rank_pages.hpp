// The shared-memory pages of this pod's ranks: made here, mapped by ranks and readers.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/page.hpp"

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

  // Highest probe count of the ranks.
  std::uint64_t highest_probe(const std::vector<ProcId>& procs);
  // Proposes iteration `k` to the ranks (decision R2). False when one of them is past it already; then no
  // rank is armed any more.
  bool arm(const std::vector<ProcId>& procs, std::uint64_t k);
  void set(const std::vector<ProcId>& procs, std::uint64_t word);
  // Tells the ranks that a change goes on, or that none does.
  void set_changing(const std::vector<ProcId>& procs, bool changing);

 private:
  const std::string folder_;
  std::map<ProcId, Page*> pages_;
};

}  // namespace empi::agent
