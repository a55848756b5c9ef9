// SPDX-License-Identifier: Apache-2.0
// Requests of one agent that wait for a reply, of the lead or of one pod. Each is answered once: by the
// reply, or by an error when it can have none. Pure; callbacks run inside of the call that answers.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/protocol/agent_messages.hpp"

namespace empi::agent {

class Requests {
 public:
  using Done = std::function<void(const Reply& reply)>;

  // `to`: a pod, or "" for the lead, whoever it is. Returns the message to send, with its `id`.
  template <class Request>
  Message open(Request request, std::string to, Done done) {
    const std::uint64_t id = request.id = next_++;
    if constexpr (std::is_same_v<Request, Collective>) request.round = next_round(request);
    return (open_[id] = {Message(std::move(request)), std::move(to), std::move(done)}).message;
  }
  void answered(const Reply& reply);  // by its `id`; one that nobody waits for is dropped
  // No reply can come from this pod any more: the callbacks get `status`.
  void fail(const std::string& to, int status);
  // What a new lead is to be told: how the one before has answered collectives, that others may still wait for,
  // and what waits here.
  std::vector<Message> of_lead() const;
  bool empty() const { return open_.empty(); }

 private:
  struct Open {
    Message message;
    std::string to;
    Done done;
  };
  // The collectives of one kind with the same ranks.
  struct Rounds {
    std::string kind;
    RankRuns procs;
    std::uint64_t begun = 0;
    std::optional<Collective> answered = {};  // the last one: nobody is further behind
  };

  std::uint64_t next_round(const Collective& request);
  void keep(const Collective& request, const std::string& answer);

  std::map<std::uint64_t, Open> open_;
  std::deque<Rounds> rounds_;  // the latest that were asked for; bounded
  std::uint64_t next_ = 1;
};

}  // namespace empi::agent
