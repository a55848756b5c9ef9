#include "runtime/agent/rank_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "runtime/protocol/names.hpp"

namespace empi::agent {

RankPages::~RankPages() {
  while (!pages_.empty()) remove(ProcId(pages_.begin()->first));
}

std::string RankPages::path(const ProcId& proc) const {
  return folder_ + "/" + names::kPagePrefix + proc.nspace + "." + std::to_string(proc.rank);
}

void RankPages::create(const ProcId& proc) {
  const std::string file = path(proc);
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(Page)) == 0)
    memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED)
    throw std::system_error(error, std::generic_category(), "cannot make the page '" + file + "'");
  pages_[proc] = new (memory) Page;
}

void RankPages::remove(const ProcId& proc) {
  auto at = pages_.find(proc);
  if (at == pages_.end()) return;
  munmap(at->second, sizeof(Page));
  pages_.erase(at);
  unlink(path(proc).c_str());
}

Page* RankPages::find(const ProcId& proc) {
  auto at = pages_.find(proc);
  return at == pages_.end() ? nullptr : at->second;
}

std::uint64_t RankPages::highest_probe(const std::vector<ProcId>& procs) {
  std::uint64_t highest = 0;
  for (const ProcId& proc : procs)
    if (Page* page = find(proc)) highest = std::max(highest, page->rank_state.probes.load());
  return highest;
}

bool RankPages::arm(const std::vector<ProcId>& procs, std::uint64_t k) {
  set(procs, arm_word(k, ArmState::Armed));
  // The rank counts a probe and then reads the word; we write the word and then read its count, both with
  // sequential consistency: at least one of the two sees the other.
  const bool late = std::ranges::any_of(procs, [&](const ProcId& proc) {
    Page* page = find(proc);
    if (!page) return true;
    const bool waits = page->rank_state.phase.load() == RankPhase::WaitingAtIteration;
    return page->rank_state.probes.load() >= k && !waits;
  });
  if (late) set(procs, 0);
  return !late;
}

void RankPages::set(const std::vector<ProcId>& procs, std::uint64_t word) {
  for (const ProcId& proc : procs)
    if (Page* page = find(proc)) page->control.armed.store(word);
}

void RankPages::set_changing(const std::vector<ProcId>& procs, bool changing) {
  for (const ProcId& proc : procs)
    if (Page* page = find(proc)) page->control.changing.store(changing);
}

}  // namespace empi::agent
