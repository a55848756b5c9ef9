// SPDX-License-Identifier: Apache-2.0
// How many requests may be under way at once: as many as the server answers in time. A server that cannot
// keep up is not helped by more of them, and what is urgent (a lease) waits behind each. Any thread.
#pragma once
#include <condition_variable>
#include <mutex>

#include "operator/kube/clock.hpp"

namespace emj::kube {

// Additive increase, multiplicative decrease, as TCP: an answer that is late or does not come halves the
// limit, once for all that were sent before it was halved; as many good answers as the limit raise it by one.
class InFlight {
 public:
  InFlight(int most, Millis late, Clock& clock);

  enum class End { Answered, NotAnswered, NotSent };
  // One request; blocks until it may be sent. Not answered, unless it is said to be.
  class Turn {
   public:
    explicit Turn(InFlight& limit);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool may_go() const { return may_go_; }  // false: stop() was called
    void answered() { end_ = End::Answered; }
    void not_sent() { end_ = End::NotSent; }  // there was no connection: nothing is known of the server

   private:
    InFlight& limit_;
    Instant sent_;
    bool may_go_ = false;
    End end_ = End::NotAnswered;
  };

  void stop();
  int limit() const;

 private:
  static constexpr int kLeast = 8;  // with fewer, a server that hangs would hold whoever waits for minutes
  void leave(Instant sent, End end);

  Clock& clock_;
  const int most_;
  const Millis late_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  int limit_;
  int under_way_ = 0;
  int good_ = 0;       // answers since the limit was last moved
  Instant halved_at_;  // what was sent before says nothing about the limit of now
  bool stopped_ = false;
};

}  // namespace emj::kube
