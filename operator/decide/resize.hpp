// SPDX-License-Identifier: Apache-2.0
// What the parts of a change of size share: resize.cpp until it is sent, resize_sent.cpp from then on,
// resize_rest.cpp for newcomers that are late.
#pragma once
#include <optional>
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
// For policies: the change in hand has been made, and has cost that many seconds.
void remember_change(Pass& pass, double cost_seconds, double work_per_iteration);
void set_idle(Pass& pass);
void give_up(Pass& pass, const std::string& reason, bool timed_out);
void supersede(Pass& pass, const std::string& reason);
void forget_rest(Pass& pass, const std::string& reason);
// Nobody who has been told to join is waited for any more, as far as the lead does not know of them.
void call_off_newcomers(Pass& pass, const std::string& reason);
void send(Pass& pass);
void begin_again(Pass& pass, int target);

// --- resize_rest.cpp
IndexSet ready_of(const Pass& pass, const IndexSet& workers);
// The size that the change in hand is a step to: with the newcomers that it goes on without.
int aim(const Pass& pass);
void keep_at_most(const Pass& pass, int count, IndexSet& workers, IndexSet& created);
// Newcomers that were evicted before they joined are replaced. A failed one: its description.
std::optional<std::string> replace_evicted(Pass& pass, IndexSet& workers, IndexSet& created);
// How many of `newcomers`, of which some are missing, are to join now, while `leaving` members go: none
// before those that are ready have waited for the others since `ready_time`, or till `latest`; none unless
// the job is larger then, or has as many members as now without those that are to go.
int may_join(Pass& pass, const IndexSet& newcomers, int leaving, std::optional<Time>& ready_time,
             Time latest);
// Of the change in hand so many newcomers join, the others are awaited.
void go_on_without_the_rest(Pass& pass, int joining);
// True: the goal needs the awaited workers and nothing else, and they are waited for.
bool wait_for_rest(Pass& pass, const Goal& goal);

// --- resize_sent.cpp
void follow_change(Pass& pass, int target);
void drain(Pass& pass);

}  // namespace emj::resizing
