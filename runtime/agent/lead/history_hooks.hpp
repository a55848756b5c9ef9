// SPDX-License-Identifier: Apache-2.0
// What simulated histories (lead/testing) see and change of the pure code of an agent: which cells of the
// table are met, and old faults that can be put back, so that it is known that the histories find them. In
// the product all of this is nothing.
#pragma once
#include "runtime/protocol/change.hpp"

namespace empi::agent {

// By their names in docs/decisions.md.
enum class OldFault { None, B1, B2, B5, B6, B7, B8, B9, B11, B24 };

#ifdef EMPI_HISTORY_HOOKS
struct HistoryHooks {
  OldFault fault = OldFault::None;
  void (*met)(ChangeState state, ChangeEvent event) = nullptr;
};
inline HistoryHooks g_history_hooks;
inline bool put_back(OldFault fault) { return g_history_hooks.fault == fault; }
inline void note_met(ChangeState state, ChangeEvent event) {
  if (g_history_hooks.met) g_history_hooks.met(state, event);
}
#else
constexpr bool put_back(OldFault) { return false; }
constexpr void note_met(ChangeState, ChangeEvent) {}
#endif

}  // namespace empi::agent
