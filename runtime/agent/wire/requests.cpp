// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/requests.hpp"

#include <algorithm>
#include <utility>

#include "runtime/protocol/pmix_words.hpp"

namespace empi::agent {
namespace {

// More than can be under way when a lead is lost.
constexpr std::size_t kMostRounds = 32;

}  // namespace

void Requests::answered(const Reply& reply) {
  auto request = open_.extract(reply.id);
  if (!request) return;  // another lead has answered
  if (const auto* collective = std::get_if<Collective>(&request.mapped().message))
    if (reply.status == kPmixSuccess) keep(*collective, reply.blob);
  request.mapped().done(reply);
}

std::uint64_t Requests::next_round(const Collective& request) {
  const auto at = std::ranges::find_if(
      rounds_, [&](const Rounds& r) { return r.kind == request.kind && r.procs == request.procs; });
  Rounds rounds{request.kind, request.procs};
  if (at != rounds_.end()) {
    rounds = std::move(*at);
    rounds_.erase(at);
  }
  rounds_.push_back(std::move(rounds));
  if (rounds_.size() > kMostRounds) rounds_.pop_front();
  return rounds_.back().begun++;
}

void Requests::keep(const Collective& request, const std::string& answer) {
  for (Rounds& rounds : rounds_)
    if (rounds.kind == request.kind && rounds.procs == request.procs)
      rounds.answered = Collective{0, request.kind, request.procs, answer, request.round, true};
}

void Requests::fail(const std::string& to, int status) {
  if (to.empty()) return;
  std::vector<Open> failed;  // a callback may open others
  for (auto at = open_.begin(); at != open_.end();) {
    if (at->second.to != to) {
      ++at;
      continue;
    }
    failed.push_back(std::move(at->second));
    at = open_.erase(at);
  }
  for (Open& request : failed) request.done({.id = 0, .status = status});
}

std::vector<Message> Requests::of_lead() const {
  std::vector<Message> messages;
  for (const Rounds& rounds : rounds_)
    if (rounds.answered) messages.push_back(*rounds.answered);
  for (const auto& [id, request] : open_)
    if (request.to.empty()) messages.push_back(request.message);
  return messages;
}

}  // namespace empi::agent
