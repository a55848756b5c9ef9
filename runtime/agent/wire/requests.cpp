// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/requests.hpp"

#include <utility>

namespace empi::agent {

void Requests::answered(const Reply& reply) {
  auto request = open_.extract(reply.id);
  if (request) request.mapped().done(reply);  // else another lead has answered
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
  for (const auto& [id, request] : open_)
    if (request.to.empty()) messages.push_back(request.message);
  return messages;
}

}  // namespace empi::agent
