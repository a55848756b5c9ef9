// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/requests.hpp"

#include <algorithm>
#include <utility>

#include "runtime/protocol/pmix_words.hpp"
#include "runtime/protocol/world_keys.hpp"

namespace empi::agent {
namespace {

// More than can be under way when a lead is lost.
constexpr std::size_t kMostKept = 16;
// Each is made when the one before it has been, or was given up.
constexpr std::size_t kMostWorlds = 2;

bool names(const RankRuns& procs, const std::string& nspace) {
  return std::ranges::any_of(procs.runs(), [&](const RankRun& run) { return run.nspace == nspace; });
}

}  // namespace

void Requests::answered(const Reply& reply) {
  auto request = open_.extract(reply.id);
  if (!request) return;  // another lead has answered
  if (const auto* collective = std::get_if<Collective>(&request.mapped().message))
    if (reply.status == kPmixSuccess) keep(*collective, reply.blob);
  for (const Published& datum : reply.found)
    if (datum.key.ends_with(kAllHaveCome)) keep(datum);
  request.mapped().done(reply);
}

void Requests::keep(Collective request, const std::string& answer) {
  request.id = 0;
  request.blob = answer;
  request.answered = true;
  answers_.push_back(std::move(request));
  if (answers_.size() > kMostKept) answers_.pop_front();
}

void Requests::keep(const Published& word) {
  if (std::ranges::find(worlds_, word.key, &Published::key) != worlds_.end()) return;  // of another rank
  worlds_.push_back(word);
  if (worlds_.size() > kMostWorlds) worlds_.pop_front();
}

void Requests::fail_where(const std::function<bool(const Open&)>& hopeless, int status) {
  std::vector<Open> failed;  // a callback may open others
  for (auto at = open_.begin(); at != open_.end();) {
    if (!hopeless(at->second)) {
      ++at;
      continue;
    }
    failed.push_back(std::move(at->second));
    at = open_.erase(at);
  }
  for (Open& request : failed) request.done({.id = 0, .status = status});
}

void Requests::fail(const std::string& to, int status) {
  if (!to.empty()) fail_where([&](const Open& request) { return request.to == to; }, status);
}

void Requests::end_change(const std::string& port, const std::string& nspace) {
  const auto has_port = [&](const std::string& key) { return !port.empty() && key.find(port) != key.npos; };
  fail_where(
      [&](const Open& request) {
        const auto* lookup = std::get_if<Lookup>(&request.message);
        return lookup && std::ranges::any_of(lookup->keys, has_port);
      },
      kPmixNotFound);
  fail_where(
      [&](const Open& request) {
        const auto* publish = std::get_if<Publish>(&request.message);
        const auto* collective = std::get_if<Collective>(&request.message);
        return (publish && std::ranges::any_of(publish->data, has_port, &Published::key)) ||
               (collective && names(collective->procs, nspace));
      },
      kPmixError);
}

void Requests::forget(const std::string& nspace) {
  std::erase_if(rounds_, [&](const auto& entry) { return names(entry.first.second, nspace); });
  std::erase_if(answers_, [&](const Collective& answer) { return names(answer.procs, nspace); });
}

std::vector<Message> Requests::of_lead() const {
  std::vector<Message> messages;
  for (const auto& [id, request] : open_)
    if (request.to.empty()) messages.push_back(request.message);
  return messages;
}

}  // namespace empi::agent
