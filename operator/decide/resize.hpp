// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the two halves of a change of size share: resize.cpp until it is sent, resize_sent.cpp from then on.

#include <string>

#include "operator/decide/pass.hpp"

namespace emj::resizing {

struct Goal {
  int to = 0;
  int add = 0;
  IndexSet remove;

  bool nothing() const { return add == 0 && remove.empty(); }
};

// --- resize.cpp
bool blocked_now(const Pass& pass, int target);
Goal goal_for(const Pass& pass, int target, bool may_add);
void record_end(Pass& pass, ResizeResult result, const std::string& reason);
void set_idle(Pass& pass);
void give_up(Pass& pass, const std::string& reason, bool timed_out);
void supersede(Pass& pass, const std::string& reason);
void send(Pass& pass);
void begin_again(Pass& pass, int target);

// --- resize_sent.cpp
void follow_change(Pass& pass, int target);
void drain(Pass& pass);

}  // namespace emj::resizing
