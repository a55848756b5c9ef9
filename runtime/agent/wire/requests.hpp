// SPDX-License-Identifier: Apache-2.0
// Requests of one agent that wait for a reply, of the lead or of one pod. Each is answered once: by the
// reply, or by an error when it can have none. Pure; callbacks run inside of the call that answers.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
  // What waits for the lead: to be sent again to a new one.
  std::vector<Message> of_lead() const;
  // How the lead has answered collectives last, oldest first: another pod may have got no answer before the
  // lead was lost.
  const std::deque<Collective>& answered_collectives() const { return answers_; }
  // The words that all have come to a world, of the last ones: the same holds for them.
  const std::deque<Published>& worlds() const { return worlds_; }
  // As the lead does (Rendezvous::end_change): the change of this port is over, and the joiners' namespace is
  // gone where it was rolled back. A lead that is lost may have said so in vain, and the next one not know
  // it.
  void end_change(const std::string& port, const std::string& nspace);
  // A namespace is gone: nobody asks for collectives with its ranks any more.
  void forget(const std::string& nspace);
  bool empty() const { return open_.empty(); }

 private:
  struct Open {
    Message message;
    std::string to;
    Done done;
  };
  void fail_where(const std::function<bool(const Open&)>& hopeless, int status);
  // Of the collectives of one kind with the same ranks: all their pods ask for them in the same order.
  std::uint64_t next_round(const Collective& request) { return rounds_[{request.kind, request.procs}]++; }
  void keep(Collective request, const std::string& answer);
  void keep(const Published& word);

  std::map<std::uint64_t, Open> open_;
  std::map<std::pair<std::string, RankRuns>, std::uint64_t> rounds_;  // of namespaces that there are
  std::deque<Collective> answers_;                                    // bounded
  std::deque<Published> worlds_;                                      // bounded
  std::uint64_t next_ = 1;
};

}  // namespace empi::agent
