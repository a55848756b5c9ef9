// SPDX-License-Identifier: Apache-2.0
// A worker whose master is lost: the one that mirrors the queue (mirror.hpp) takes its place, the others go
// there. That a connection has ended is no proof that the master has: the mirror waits for the word of the
// agents, which name one successor, so that there are never two.
#include <poll.h>

#include <exception>

#include "runtime/queue/packing.hpp"
#include "runtime/queue/worker.hpp"

namespace empi::queue {
namespace {

constexpr std::int64_t kWordTakes = 60'000'000'000;  // ns: a loss that nobody speaks of by then is none
constexpr double kReachesMirror = 30;                // s
constexpr std::size_t kKeptPhases = 2;               // no worker is further behind (Master::mirror_has_all)

}  // namespace

// Whether it was for the mirror. Main thread.
bool Worker::of_mirror(const Message& message) {
  switch (message.head.kind) {
    case Kind::Welcome:
    case Kind::Successor: {
      if (message.payload.empty()) return true;
      Unpacker in(message.payload);
      master_id_ = in.text();
      successor_ = in.text();
      if (!successor_.empty()) mirrors_[in.text()] = successor_;
      if (mirror_ && successor_ != mirror_->address.text()) mirror_.reset();
      return true;
    }
    case Kind::Mirror: {
      if (!mirror_) {
        mirror_.emplace(host_);
        past_.clear();
      }
      HandoverState& state = mirror_->state = HandoverState::unpack(message.payload);
      if (state.results.empty())
        state.results.resize(static_cast<std::size_t>(state.phase.tasks * state.phase.width));
      say_mirrors(message.head.first);
      return true;
    }
    case Kind::Mirrored:
      if (!mirror_) return true;
      replay(mirror_->state, message.payload);
      if (message.head.count == 1) say_mirrors(message.head.first);
      return true;
    default:
      return false;
  }
}

void Worker::say_mirrors(std::int64_t number) {
  connection_.send({.kind = Kind::Mirrors, .first = number}, bytes_of(mirror_->address.text()));
  if (!connection_.write_some()) lost_ = true;
}

// Of the phase that has just ended: some may not have got them.
void Worker::keep_results(const SharedBytes& results) {
  if (!mirror_) return;
  past_.emplace_back(phase_, results);
  if (past_.size() > kKeptPhases) past_.erase(past_.begin());
}

void Worker::lost(const WorkerId& who, const WorkerId& next) {
  {
    const std::lock_guard lock(lost_mutex_);
    lost_ids_.insert(who);
    if (!next.empty()) next_[who] = next;
  }
  news_of_losses_ = true;
  wakeup_.notify();
}

std::set<WorkerId> Worker::all_lost() const {
  const std::lock_guard lock(lost_mutex_);
  return lost_ids_;
}

bool Worker::master_is_lost() {
  news_of_losses_ = false;
  const std::lock_guard lock(lost_mutex_);
  return lost_ || lost_ids_.contains(master_id_);
}

// Nothing: we are a worker of the next master. Throws MasterGone when there is none.
std::optional<Handover> Worker::go_on_without_master() {
  const std::string gone = "the master at " + whereabouts() + " is gone";
  if (mirror_ && successor_ == mirror_->address.text()) {
    wait_for_word();
    return in_place_of_master();
  }
  follow_word();
  if (successor_.empty()) throw MasterGone(gone);
  try {
    go_to_successor();
  } catch (const std::exception& error) {
    throw MasterGone(gone + ", and so is the mirror of its queue: " + error.what());
  }
  return std::nullopt;
}

// One that is cut off and not dead may have said meanwhile that nobody mirrors it.
void Worker::follow_word() {
  const std::lock_guard lock(lost_mutex_);
  const auto next = next_.find(master_id_);
  if (next == next_.end()) return;
  if (const auto at = mirrors_.find(next->second); at != mirrors_.end()) successor_ = at->second;
}

void Worker::wait_for_word() {
  const std::int64_t since = now_ns();
  for (;;) {
    {
      const std::lock_guard lock(lost_mutex_);
      if (const auto at = next_.find(master_id_); at != next_.end() && at->second == self_) return;
      if (lost_ids_.contains(master_id_))
        throw MasterGone("the master at " + whereabouts() +
                         " is gone, and this rank is not to take its place");
    }
    const std::int64_t left = kWordTakes - (now_ns() - since);
    if (left <= 0)
      throw MasterGone("the master at " + whereabouts() +
                       " is gone, and the agents have not said that it is lost");
    pollfd ready{wakeup_.fd(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left / 1'000'000) + 1) > 0) wakeup_.clear();
  }
}

// Where it had not begun the phase that we are in, it was between two, doing what it alone does.
Handover Worker::in_place_of_master() {
  HandoverState state = std::move(mirror_->state);
  if (state.phase != phase_)
    throw MasterGone("the master at " + whereabouts() +
                     " was lost between two phases: what it alone does there may be half done");
  Handover handover{.state = std::move(state), .since_ns = now_ns()};
  handover.in_hand.assign(chunks_.begin(), chunks_.end());
  handover.listener = std::move(mirror_->listener);
  handover.address = mirror_->address;
  handover.past = std::move(past_);
  chunks_.clear();
  mirror_.reset();
  lost_ = heard_all_ = true;  // there is nobody at the other end of the connection
  const std::lock_guard lock(lost_mutex_);
  handover.lost = lost_ids_;
  return handover;
}

// It answers when it has heard of the loss, and has done its task in hand.
void Worker::go_to_successor() {
  const Address next = Address::parse(successor_);
  connection_ = Connection::to(next, kReachesMirror);
  master_ = next;
  lost_ = heard_all_ = false;
  master_id_.clear();
  successor_.clear();
  inbox_.clear();
  world_in_hand_ = false;  // the next master asks for another one
  introduce(how_ == Newcomer::Joiner ? how_ : Newcomer::Moved, phase_.number);
}

void Worker::finish() {
  if (bye_said_ || closed_) return;
  for (;;) {
    while (auto message = pop())
      if (message->head.kind == Kind::Closed) return;
    if (successor_.empty()) return;
    if (!master_is_lost()) {
      wait_for(connection_.events(), false);
    } else if (mirror_) {
      wait_for_word();
      throw MasterGone("the master at " + whereabouts() +
                       " was lost after the last phase: what it alone does there may be half done");
    } else {  // the next one need not wait for us
      chunks_.clear();
      ++phase_.number;
      try {
        go_to_successor();
      } catch (const std::exception&) {
        return;
      }
    }
  }
}

}  // namespace empi::queue
