// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/lead_state.hpp"

#include <utility>

namespace empi {

void LeadState::remember(ChangeStatus past) {
  history.push_back(std::move(past));
  if (history.size() > kHistory) history.pop_front();
}

}  // namespace empi
