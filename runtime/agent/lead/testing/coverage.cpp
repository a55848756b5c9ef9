// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/coverage.hpp"

#include <array>
#include <variant>

namespace empi::agent::histories {
namespace {

using S = ChangeState;
using E = ChangeEvent;

constexpr std::array<std::string_view, kFates> kFateNames = {"arrived", "lost", "repeated", "late"};

template <std::size_t... I>
std::vector<std::string_view> ops(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, Message>::kOp...};
}
const std::vector<std::string_view>& ops() {
  static const std::vector<std::string_view> all =
      ops(std::make_index_sequence<std::variant_size_v<Message>>{});
  return all;
}

// Likewise.
bool of_recovery(std::size_t kind) { return ops()[kind] == TakeOver::kOp || ops()[kind] == TakenOver::kOp; }

bool has_cell(S state, E event) { return next_state(state, event).has_value(); }
std::string cell(S state, E event) {
  return std::string(to_string(event)) + " in " + std::string(to_string(state));
}

}  // namespace

std::string_view why_not_met(ChangeState state, ChangeEvent event) {
  if (!has_cell(state, event)) return "";
  if (state == S::Stable && event != E::Requested) return "no change is in hand";
  if (state == S::Failed && event != E::JoinerLost) return "the job is ending: nothing is asked any more";
  switch (event) {
    case E::JoinersUp:
      return state == S::Preparing ? "" : "asked in Preparing alone, and only once";
    case E::WorldBuilt:
      return state == S::Building ? "" : "asked in Building alone, and only once";
    case E::Confirmed:
      return state == S::Ready ? "" : "asked when Arm is answered, which the next step replaces";
    case E::RecordSpread:
      return state == S::Committed ? "" : "asked when Commit is answered, and only once";
    case E::Disagreed:
      return state == S::Window ? "" : "in RollingBack a vote is noted, and decides nothing";
    case E::ProbesDoNotMatch:
      return state == S::Ready ? "" : "probes are read in Ready alone";
    case E::MemberDown:
      return "of programs that go on without a member, which have histories of their own";
    case E::JobEnding:
      return state == S::Window ? "a rank that ends in the window disagrees" : "";
    case E::JoinerLost:
      return state == S::Draining ? "a joiner is a member by then: MemberLost" : "";
    case E::Deadline:
      if (state == S::Window) return "its bound interrupts the ranks, whose vote decides";
      return state == S::Committed ? "its bound only says whom it waits for" : "";
    default:
      return "";
  }
}

std::string in_words(const std::vector<std::size_t>& kinds, Fate fate) {
  std::string words;
  for (const std::size_t kind : kinds) words.append(words.empty() ? "" : ", ").append(ops()[kind]);
  return words.append(": ").append(kFateNames[static_cast<std::size_t>(fate)]);
}

std::vector<std::string> describe(const Coverage& coverage) {
  std::vector<std::string> lines;
  for (const S state : kChangeStates)
    for (const E event : kChangeEvents) {
      if (!has_cell(state, event)) continue;
      const std::string_view why = why_not_met(state, event);
      lines.push_back(cell(state, event) + ": " +
                      (coverage.cells.contains({state, event}) ? "met"
                       : why.empty()                           ? "NOT MET"
                                                               : "cannot be: " + std::string(why)));
    }
  for (std::size_t kind = 0; kind < ops().size(); ++kind) {
    std::string line = "message " + std::string(ops()[kind]) + ":";
    for (std::size_t fate = 0; fate < kFates; ++fate)
      line += (fate ? ", " : " ") + std::string(kFateNames[fate]) + " " +
              std::to_string(coverage.messages[kind][fate]);
    lines.push_back(line);
  }
  const auto say = [&lines](std::string_view what, std::uint64_t count) {
    lines.push_back(std::string(what) + ": " + std::to_string(count));
  };
  say("histories", coverage.histories);
  say("changes", coverage.changes);
  say("faults", coverage.faults);
  say("rotations of the key", coverage.keys);
  say("controllers that took over", coverage.controllers);
  say("leads that were named", coverage.leads);
  say("requests of ranks that were answered", coverage.requests);
  say("jobs that failed", coverage.failed_jobs);
  return lines;
}

std::vector<std::string> gaps(const Coverage& coverage) {
  std::vector<std::string> lines;
  for (const S state : kChangeStates)
    for (const E event : kChangeEvents) {
      if (!has_cell(state, event)) continue;
      const bool met = coverage.cells.contains({state, event});
      const std::string_view why = why_not_met(state, event);
      if (met && !why.empty())
        lines.push_back("met, although " + std::string(why) + ": " + cell(state, event));
      if (!met && why.empty()) lines.push_back("not met: " + cell(state, event));
    }
  for (std::size_t kind = 0; kind < ops().size(); ++kind)
    for (std::size_t fate = 0; fate < kFates && !of_recovery(kind); ++fate)
      if (coverage.messages[kind][fate] == 0)
        lines.push_back("no message " + std::string(ops()[kind]) + " was " + std::string(kFateNames[fate]));
  if (coverage.keys == 0) lines.push_back("no key was rotated");
  if (coverage.controllers == 0) lines.push_back("no controller took over while a change was in hand");
  return lines;
}

double share_of_cells(const Coverage& coverage) {
  std::size_t met = 0, possible = 0;
  for (const S state : kChangeStates)
    for (const E event : kChangeEvents) {
      if (!has_cell(state, event) || !why_not_met(state, event).empty()) continue;
      ++possible;
      met += coverage.cells.contains({state, event});
    }
  return static_cast<double>(met) / static_cast<double>(possible);
}

}  // namespace empi::agent::histories
