// SPDX-License-Identifier: Apache-2.0
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

std::vector<ProbeMark> RankPages::probe_marks(const std::vector<ProcId>& procs) {
  std::vector<ProbeMark> marks;
  for (const ProcId& proc : procs) {
    const Page* page = find(proc);
    if (!page) continue;
    const Page::Rank& state = page->rank_state;
    ProbeMark mark{.rank = proc, .probes = state.probes.load()};  // first: what it says of them stands then
    mark.joined = state.joined.load();
    mark.aligned = state.aligned.load();
    mark.communicated = state.communicated.load();
    mark.first = state.first.load();
    mark.grown_at = state.grown_at.load();
    mark.grown = state.grown.load();
    if (!mark.communicated && !mark.grown_at) {
      mark.calls_at_first = state.calls_at_first.load();
      mark.calls_at_second = state.calls_at_second.load();
    }
    add_mark(marks, mark);
  }
  return marks;
}

std::vector<ProcId> RankPages::probing(const std::vector<ProcId>& procs, ProbeMode mode) {
  std::vector<ProcId> found = procs;
  if (mode == ProbeMode::Root)
    std::erase_if(found, [&](const ProcId& proc) {
      const Page* page = find(proc);
      return !page || page->world_rank != 0;
    });
  return found;
}

bool RankPages::arm(const std::vector<ProcId>& procs, std::uint64_t k, bool joiners_precede, ProbeMode mode) {
  const auto own = [&](const Page& page) {
    if (mode == ProbeMode::Root && page.world_rank != 0) return kNextProbe;
    return k + (joiners_precede && page.rank_state.joined.load());
  };
  for (const ProcId& proc : procs)
    if (Page* page = find(proc)) page->control.armed.store(arm_word(own(*page), ArmState::Armed));
  // The rank counts a probe and then reads the word; we write the word and then read its count, both with
  // sequential consistency: at least one of the two sees the other.
  const bool late = std::ranges::any_of(procs, [&](const ProcId& proc) {
    Page* page = find(proc);
    if (!page) return true;
    if (own(*page) == kNextProbe) return false;
    const bool waits = page->rank_state.phase.load() == RankPhase::WaitingAtIteration;
    return page->rank_state.probes.load() >= own(*page) && !waits;
  });
  if (late) set(procs, 0);
  return !late;
}

void RankPages::confirm(const std::vector<ProcId>& procs, std::uint64_t k) {
  for (const ProcId& proc : procs) {
    Page* page = find(proc);
    if (!page) continue;
    const std::uint64_t word = page->control.armed.load();
    const std::uint64_t own = arm_state(word) == ArmState::Idle ? k : arm_iteration(word);
    page->control.armed.store(arm_word(own, ArmState::Confirmed));
  }
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
