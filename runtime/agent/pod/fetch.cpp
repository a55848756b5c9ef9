// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/fetch.hpp"

#include <algorithm>
#include <utility>

namespace empi::agent {

Fetch::Fetch(std::vector<Member> pods, std::size_t first, Ask ask, Answered done)
    : pods_(std::move(pods)), first_(first), ask_(std::move(ask)), done_(std::move(done)) {}

void Fetch::begin(std::vector<Member> pods, std::size_t first, Ask ask, Answered done) {
  if (pods.empty()) return done("");
  const std::shared_ptr<Fetch> fetch(new Fetch(std::move(pods), first, std::move(ask), std::move(done)));
  for (std::size_t i = 0; i < std::min(kAtOnce, fetch->pods_.size()); ++i) fetch->ask_next();
}

void Fetch::ask_next() {
  if (asked_ == pods_.size()) return;
  const Member& pod = pods_[(first_ + asked_++) % pods_.size()];
  ask_(pod, [self = shared_from_this()](const std::string& error) {
    if (!error.empty()) self->error_ = error;
    if (++self->answered_ == self->pods_.size()) return self->done_(self->error_);
    self->ask_next();
  });
}

}  // namespace empi::agent
