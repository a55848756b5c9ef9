// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/outbox.hpp"

#include <utility>

#include "runtime/agent/lead/history_hooks.hpp"

namespace empi::agent {
namespace {

constexpr std::size_t kMessages = 256;               // in a batch
constexpr std::size_t kBytes = kMostBatchBytes / 2;  // after which no further message goes along

}  // namespace

Attempt attempt_of_status(int http_status) {
  switch (http_status) {
    case 200:
      return Attempt::Delivered;
    case 401:
      return Attempt::WrongToken;
    case 409:
      return Attempt::Stranger;
    case 410:
      return Attempt::Dismissed;
    default:
      return Attempt::Refused;
  }
}

Outbox::Outbox(std::string from, std::string to, std::string session, Patience patience)
    : from_(std::move(from)), to_(std::move(to)), session_(std::move(session)), patience_(patience) {}

void Outbox::put(MessageBytes message) {
  if (!is_over_for_good() && !parting_) queue_.push_back(std::move(message));
}

const Batch* Outbox::next() {
  if (sent_ && put_back(OldFault::B1))
    for (; !queue_.empty(); queue_.pop_front()) sent_->messages.push_back(queue_.front());
  if (sent_) return &*sent_;
  if (queue_.empty()) return nullptr;
  sent_ = Batch{from_, to_, session_, sequence_, {}};
  std::size_t bytes = 0;
  do {
    bytes += queue_.front().size();
    sent_->messages.push_back(std::move(queue_.front()));
    queue_.pop_front();
  } while (!queue_.empty() && sent_->messages.size() < kMessages && bytes + queue_.front().size() <= kBytes);
  return &*sent_;
}

const std::string& Outbox::token(const std::vector<std::string>& lines) {
  if (std::exchange(lines_, lines) != lines) line_ = 0;
  return lines_[line_ % lines_.size()];
}

Standing Outbox::attempted(Attempt attempt, RunningTime now) {
  if (attempt == Attempt::Delivered) {
    sent_.reset();
    ++sequence_;
    reached_ = true;
    failures_ = 0;
    trouble_ = RunningTime{0};
    undelivered_since_.reset();
    silent_since_.reset();
    return standing_ = Standing::Good;
  }
  ++failures_;
  // A receiver that closes in the middle of a long batch may have refused the token.
  if (attempt == Attempt::WrongToken || attempt == Attempt::Broken) ++line_;
  if (attempt == Attempt::Stranger || attempt == Attempt::Dismissed) {
    sent_.reset();
    queue_.clear();
    return standing_ = attempt == Attempt::Stranger ? Standing::Stranger : Standing::Dismissed;
  }
  trouble_ = now - *(undelivered_since_ = undelivered_since_.value_or(now));
  if (attempt == Attempt::NoRoad || attempt == Attempt::Broken || attempt == Attempt::Stuck)
    silent_since_ = silent_since_.value_or(now);
  else
    silent_since_.reset();
  if (put_back(OldFault::B11) && attempt == Attempt::NoRoad && failures_ >= 3)
    return standing_ = Standing::Silent;
  const bool silent = silent_since_ && now - *silent_since_ > patience_.silence;
  // A refusal that is followed by silence is judged by the silence.
  const bool refused = !silent_since_ && trouble_ > patience_.refusal;
  return standing_ = silent || refused ? Standing::Silent : Standing::Troubled;
}

}  // namespace empi::agent
