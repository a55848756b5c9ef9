// SPDX-License-Identifier: Apache-2.0
// The sender's half of the channel from one agent to another, without threads, sockets and clocks: numbers
// batches, repeats exactly what was not acknowledged, and says what to think of the receiver (decisions R15,
// R16).
//
//   Outbox out("us", "them", "session", {.silence = 10s});
//   out.put(bytes);
//   while (const Batch* batch = out.next()) {
//     const Attempt attempt = ...;  // POST it, with the token out.token(lines)
//     out.attempted(attempt, clock.now());
//   }
//
// Messages are bytes; a session belongs to one Outbox. Not thread-safe.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/wire/batch.hpp"
#include "runtime/agent/wire/running_clock.hpp"

namespace empi::agent {

// What one attempt to deliver a batch came to.
enum class Attempt {
  Delivered,   // 200
  NoRoad,      // no connection: refused, unreachable, not in time, no name, no descriptor
  Broken,      // a connection, and no whole answer
  Stuck,       // taken by a receiver whose reactor has not turned for longer than the patience
  WrongToken,  // 401
  Stranger,    // 409: another pod is there
  Dismissed,   // 410: it knows that we are no member any more
  Refused      // any other status
};
Attempt attempt_of_status(int http_status);

// What to think of the receiver.
enum class Standing {
  Good,
  Troubled,  // the last attempt failed: nothing but a reason to try again
  Silent,    // for longer than the patience
  Stranger,  // for ever: nothing is sent there any more
  Dismissed  // the same, by its word: we are no member any more
};

struct Patience {
  // Without any answer, or with none that anybody acts on.
  RunningTime silence = std::chrono::seconds(10);
  // With answers, but none that takes what we send. A kubelet may need a minute or two to bring a new token.
  RunningTime refusal = std::chrono::seconds(120);
};

class Outbox {
 public:
  Outbox(std::string from, std::string to, std::string session, Patience patience);

  void put(MessageBytes message);
  // The batch to send now, the same until it is delivered; null when there is none. Valid until attempted().
  const Batch* next();
  // The line of the token file to send it with: the first, or the one that the receiver took. `lines` are
  // those of now, best first, at least one.
  const std::string& token(const std::vector<std::string>& lines);
  Standing attempted(Attempt attempt, RunningTime now);

  // Nothing will be put any more; what is queued may still be delivered.
  void part() { parting_ = true; }
  // Nothing is left to be done: all delivered, or it makes no sense to try again.
  bool over() const { return is_over_for_good() || (parting_ && (idle() || standing_ == Standing::Silent)); }
  bool idle() const { return !sent_ && queue_.empty(); }

  Standing standing() const { return standing_; }
  bool reached() const { return reached_; }            // some batch was delivered
  int failures() const { return failures_; }           // attempts since the last delivery
  RunningTime in_trouble() const { return trouble_; }  // from the first of these to the last

 private:
  bool is_over_for_good() const {
    return standing_ == Standing::Stranger || standing_ == Standing::Dismissed;
  }

  const std::string from_, to_, session_;
  const Patience patience_;
  std::deque<MessageBytes> queue_;
  std::optional<Batch> sent_;  // not acknowledged: a retry repeats it as it is
  std::uint64_t sequence_ = 1;
  std::vector<std::string> lines_;
  std::size_t line_ = 0;
  Standing standing_ = Standing::Good;
  bool parting_ = false, reached_ = false;
  int failures_ = 0;
  RunningTime trouble_{0};
  std::optional<RunningTime> undelivered_since_, silent_since_;
};

}  // namespace empi::agent
