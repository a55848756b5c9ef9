// SPDX-License-Identifier: Apache-2.0
// Requests of one agent that wait for a reply, of the lead or of one pod. Each is answered once: by the
// reply, or by an error when it can have none. Pure; callbacks run inside of the call that answers.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
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
    return (open_[id] = {Message(std::move(request)), std::move(to), std::move(done)}).message;
  }
  void answered(const Reply& reply);  // by its `id`; one that nobody waits for is dropped
  // No reply can come from this pod any more: the callbacks get `status`.
  void fail(const std::string& to, int status);
  // What waits for the lead: to be sent again to a new one.
  std::vector<Message> of_lead() const;
  bool empty() const { return open_.empty(); }

 private:
  struct Open {
    Message message;
    std::string to;
    Done done;
  };
  std::map<std::uint64_t, Open> open_;
  std::uint64_t next_ = 1;
};

}  // namespace empi::agent
