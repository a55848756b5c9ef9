// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/probe_marks.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace empi {
namespace {

std::string name_of(const ProbeMark& mark) { return "rank " + name_of(mark.rank); }

std::string mismatch(const ProbeMark& a, const std::string& does, const ProbeMark& b,
                     const std::string& instead) {
  return "the ranks do not call MPI_Probe_adapt at the same places: since the last change " + name_of(a) +
         " " + does + ", " + name_of(b) + " " + instead;
}

std::string calls_before(std::uint64_t collectives, std::uint64_t probe) {
  return "made " + std::to_string(collectives) + " collective calls over the whole world before its probe " +
         std::to_string(probe);
}

// Ranks that came to their first probe by the same way, as one.
struct Group {
  std::optional<ProbeMark> mark;
  std::string mismatch;
  bool same_calls = true;

  void add(const ProbeMark& next) {
    if (!mark) {
      mark = next;
      return;
    }
    ProbeMark& all = *mark;
    if (next.first != all.first)
      mismatch = empi::mismatch(next, calls_before(next.first, 1), all, calls_before(all.first, 1));
    if (next.grown_at && all.grown_at && (next.grown_at != all.grown_at || next.grown != all.grown))
      mismatch = empi::mismatch(next, calls_before(next.grown, next.grown_at), all,
                                calls_before(all.grown, all.grown_at));
    same_calls = same_calls && next.calls_at_first == all.calls_at_first &&
                 (next.calls_at_second == all.calls_at_second || next.probes < 2 || all.probes < 2);
    all.calls_at_second = std::max(all.calls_at_second, next.calls_at_second);
    all.probes = std::min(all.probes, next.probes);
    all.aligned = all.aligned && next.aligned;
    all.communicated = all.communicated || next.communicated;
    if (!all.grown_at) std::tie(all.grown_at, all.grown) = std::pair(next.grown_at, next.grown);
  }
};

ProbeAgreement differs(std::string why) { return {ProbeMatch::Mismatch, std::move(why)}; }
ProbeAgreement unknown(std::string why) { return {ProbeMatch::Unknown, std::move(why)}; }

ProbeAgreement by_their_growth(const ProbeMark& joiner, const ProbeMark& stayer) {
  if (!joiner.grown_at || !stayer.grown_at)
    return unknown(name_of(joiner.grown_at ? stayer : joiner) +
                   " has not made another collective call over the whole world and probed again");
  if (joiner.grown == stayer.grown && joiner.grown_at == stayer.grown_at) return {ProbeMatch::Counts, ""};
  if (joiner.grown == stayer.grown && joiner.grown_at == stayer.grown_at + 1)
    return {ProbeMatch::Precedes, ""};
  return differs(mismatch(joiner, calls_before(joiner.grown, joiner.grown_at), stayer,
                          calls_before(stayer.grown, stayer.grown_at)));
}

ProbeMatch by_calls(const ProbeMark& joiner, const ProbeMark& stayer) {
  if (joiner.communicated || stayer.communicated) return ProbeMatch::Doubtful;
  const bool first = joiner.calls_at_first == stayer.calls_at_first;
  const bool second = joiner.calls_at_second == stayer.calls_at_first;
  if (first == second) return ProbeMatch::Doubtful;
  return first ? ProbeMatch::Counts : ProbeMatch::Precedes;
}

ProbeAgreement by_other_communication(const Group& joined, const Group& stayed) {
  const ProbeMark &joiner = *joined.mark, &stayer = *stayed.mark;
  if (std::min(joiner.probes, stayer.probes) < kProbesWithoutCollectives)
    return unknown("without collective calls between them, " + std::to_string(kProbesWithoutCollectives) +
                   " probes of every rank are waited for");
  if (stayer.communicated) return {joiner.communicated ? ProbeMatch::Counts : ProbeMatch::Precedes, ""};
  if (joined.same_calls && stayed.same_calls)
    if (const ProbeMatch match = by_calls(joiner, stayer); match != ProbeMatch::Doubtful) return {match, ""};
  return {ProbeMatch::Doubtful, "whether the first MPI_Probe_adapt of " + name_of(joiner) +
                                    ", which joined by the last change, is the same call as the others' "
                                    "first one cannot be told: nothing "
                                    "is communicated between the probes. Make a collective call there, or "
                                    "let joiners that iterate before "
                                    "they probe call MPIX_Probe_adapt_aligned after the commit"};
}

}  // namespace

void add_mark(std::vector<ProbeMark>& marks, const ProbeMark& mark) {
  const auto key = [](const ProbeMark& m) {
    return std::tuple(m.probes > 0, m.joined, m.aligned, m.communicated, m.first, m.grown_at, m.grown,
                      m.calls_at_first, m.calls_at_second);
  };
  const auto same = std::ranges::find(marks, key(mark), key);
  if (same == marks.end())
    marks.push_back(mark);
  else if (mark.probes < same->probes)
    *same = mark;
}

ProbeAgreement agree_on_probes(const std::vector<ProbeMark>& marks) {
  const bool some = std::ranges::any_of(marks, [](const ProbeMark& m) { return m.probes > 0; });
  for (const ProbeMark& mark : marks)
    if (mark.probes == 0)
      return {some ? ProbeMatch::Doubtful : ProbeMatch::Unknown,
              name_of(mark) + " has not called MPI_Probe_adapt since the last change" +
                  (some ? ", others have: it is a collective call" : "")};
  Group joined, stayed;
  for (const ProbeMark& mark : marks) (mark.joined ? joined : stayed).add(mark);
  for (const Group& group : {joined, stayed})
    if (!group.mismatch.empty()) return differs(group.mismatch);
  if (!joined.mark || !stayed.mark || joined.mark->aligned) return {ProbeMatch::Counts, ""};

  const ProbeMark &joiner = *joined.mark, &stayer = *stayed.mark;
  if (joiner.first == stayer.first) {
    if (joiner.grown_at || stayer.grown_at) return by_their_growth(joiner, stayer);
    return by_other_communication(joined, stayed);
  }
  if (joiner.first < stayer.first) {
    if (joiner.probes < 2) return unknown(name_of(joiner) + " has called MPI_Probe_adapt only once");
    if (joiner.grown_at == 2 && joiner.grown == stayer.first) return {ProbeMatch::Precedes, ""};
  }
  return differs(mismatch(joiner, calls_before(joiner.first, 1), stayer, calls_before(stayer.first, 1)));
}

}  // namespace empi
