#include "runtime/agent/hub.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace empi::agent {
namespace {

// More changes than can have messages under way.
constexpr std::size_t kTombstones = 64;

void bury(std::deque<std::string>& stones, const std::string& name) {
  if (name.empty() || std::ranges::find(stones, name) != stones.end()) return;
  stones.push_back(name);
  if (stones.size() > kTombstones) stones.pop_front();
}

}  // namespace

bool Hub::entombed_key(const std::string& key) const {
  return std::ranges::any_of(dead_ports_,
                             [&](const std::string& port) { return key.find(port) != key.npos; });
}

bool Hub::entombed(const std::vector<std::string>& keys) const {
  return std::ranges::any_of(keys, [&](const std::string& key) { return entombed_key(key); });
}

bool Hub::entombed(const std::vector<ProcId>& procs) const {
  return std::ranges::any_of(procs, [&](const ProcId& proc) {
    return std::ranges::find(dead_spaces_, proc.nspace) != dead_spaces_.end();
  });
}

HubReplies Hub::contribute(const std::string& kind, std::vector<ProcId> procs, const RequestOrigin& from,
                           std::string blob) {
  if (entombed(procs)) return {{from, kPmixError, {}, {}}};
  std::ranges::sort(procs);
  const CollectiveKey key{kind, procs};
  Collective& collective = collectives_[key];
  collective.procs = std::move(procs);
  auto& mine = collective.got[from.uid];
  // The same request a second time, after a change of lead.
  const bool repeated =
      std::ranges::any_of(mine, [&](const Contribution& c) { return c.from.id == from.id; });
  if (!repeated) mine.push_back({from, std::move(blob)});
  HubReplies replies;
  complete_if_ready(key, replies);
  return replies;
}

void Hub::complete_if_ready(const CollectiveKey& key, HubReplies& replies) {
  auto at = collectives_.find(key);
  if (at == collectives_.end()) return;
  Collective& collective = at->second;
  const auto have = [&](const std::string& uid) {
    auto got = collective.got.find(uid);
    return got != collective.got.end() && !got->second.empty();
  };
  if (!std::ranges::all_of(spaces_.hosts_of(collective.procs), have)) return;
  std::string all;
  std::vector<RequestOrigin> waiting;
  for (auto& [uid, queue] : collective.got) {
    if (queue.empty()) continue;
    all += queue.front().blob;
    waiting.push_back(queue.front().from);
    queue.pop_front();
  }
  if (std::ranges::all_of(collective.got, [](const auto& entry) { return entry.second.empty(); }))
    collectives_.erase(at);
  for (const RequestOrigin& to : waiting) replies.push_back({to, kPmixSuccess, all, {}});
}

HubReplies Hub::publish(const std::vector<Published>& data, const RequestOrigin& from) {
  for (const Published& datum : data)
    if (entombed_key(datum.key)) return {{from, kPmixError, {}, {}}};
  for (const Published& datum : data) store_[datum.key] = datum;
  HubReplies replies = {{from, kPmixSuccess, {}, {}}};
  std::erase_if(lookups_, [&](const Lookup& lookup) { return answer_lookup(lookup, true, replies); });
  return replies;
}

bool Hub::answer_lookup(const Lookup& lookup, bool wait, HubReplies& replies) {
  const auto there = [&](const std::string& key) { return store_.contains(key); };
  if (wait && !std::ranges::all_of(lookup.keys, there)) return false;
  HubReply reply{lookup.from, kPmixSuccess, {}, {}};
  for (const std::string& key : lookup.keys) {
    auto at = store_.find(key);
    if (at == store_.end()) continue;
    reply.found.push_back(at->second);
    if (at->second.first_read) store_.erase(at);
  }
  if (reply.found.empty()) reply.status = kPmixNotFound;
  replies.push_back(std::move(reply));
  return true;
}

HubReplies Hub::lookup(const std::vector<std::string>& keys, bool wait, TimePoint until,
                       const RequestOrigin& from) {
  if (entombed(keys)) return {{from, kPmixNotFound, {}, {}}};
  HubReplies replies;
  Lookup lookup{keys, until, from};
  if (!answer_lookup(lookup, wait, replies)) lookups_.push_back(std::move(lookup));
  return replies;
}

HubReplies Hub::unpublish(const std::vector<std::string>& keys, const ProcId& owner,
                          const RequestOrigin& from) {
  std::erase_if(store_, [&](const auto& entry) {
    const bool named = keys.empty() || std::ranges::find(keys, entry.first) != keys.end();
    return named && entry.second.publisher == owner;
  });
  return {{from, kPmixSuccess, {}, {}}};
}

HubReplies Hub::recheck() {
  std::vector<CollectiveKey> keys;
  for (const auto& [key, collective] : collectives_) keys.push_back(key);
  HubReplies replies;
  for (const CollectiveKey& key : keys) complete_if_ready(key, replies);
  return replies;
}

HubReplies Hub::expire(TimePoint now) {
  HubReplies replies;
  std::erase_if(lookups_, [&](const Lookup& lookup) {
    if (lookup.until > now) return false;
    replies.push_back({lookup.from, kPmixTimeout, {}, {}});
    return true;
  });
  return replies;
}

HubReplies Hub::end_change(const std::string& port, const std::string& nspace) {
  bury(dead_ports_, port);
  bury(dead_spaces_, nspace);
  HubReplies replies;
  std::erase_if(lookups_, [&](const Lookup& lookup) {
    if (!entombed(lookup.keys)) return false;
    replies.push_back({lookup.from, kPmixNotFound, {}, {}});
    return true;
  });
  std::erase_if(store_, [&](const auto& entry) { return entombed_key(entry.first); });
  std::erase_if(collectives_, [&](const auto& entry) {
    if (!entombed(entry.second.procs)) return false;
    for (const auto& [uid, queue] : entry.second.got)
      for (const Contribution& c : queue) replies.push_back({c.from, kPmixError, {}, {}});
    return true;
  });
  return replies;
}

nlohmann::json Hub::hand_over() const {
  nlohmann::json data = nlohmann::json::array();
  for (const auto& [key, p] : store_)
    data.push_back({key, p.publisher.nspace, p.publisher.rank,
                    nlohmann::json::binary(std::vector<std::uint8_t>(p.value.begin(), p.value.end())),
                    p.first_read});
  return {{"data", data}, {"deadPorts", dead_ports_}, {"deadSpaces", dead_spaces_}};
}

void Hub::take_over(const nlohmann::json& state) {
  for (const nlohmann::json& entry : state.at("data")) {
    const auto& bytes = entry.at(3).get_binary();
    const std::string key = entry.at(0);
    store_[key] = {key, {entry.at(1), entry.at(2)}, std::string(bytes.begin(), bytes.end()), entry.at(4)};
  }
  for (const nlohmann::json& port : state.at("deadPorts")) bury(dead_ports_, port);
  for (const nlohmann::json& space : state.at("deadSpaces")) bury(dead_spaces_, space);
}

}  // namespace empi::agent
