// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/rendezvous.hpp"

#include <algorithm>

#include "runtime/protocol/world_keys.hpp"

namespace empi::agent {
namespace {

// More changes than can have messages under way.
constexpr std::size_t kTombstones = 64;
// More than were under way when the lead before was lost.
constexpr std::size_t kMostAnswers = 128;
// More than the calls that are under way at a time.
constexpr std::size_t kMostMeetings = 4096;

void add_tombstone(std::deque<std::string>& stones, const std::string& name) {
  if (name.empty() || std::ranges::find(stones, name) != stones.end()) return;
  stones.push_back(name);
  if (stones.size() > kTombstones) stones.pop_front();
}

// Open MPI's keys: the port, and what is exchanged there.
std::string port_of(const std::string& key) { return key.substr(0, key.find(':')); }

}  // namespace

void Rendezvous::note_meeting(const Published& datum) {
  const auto [at, is_new] = meetings_.try_emplace(port_of(datum.key));
  at->second.insert(datum.publisher);
  if (!is_new) return;
  meeting_order_.push_back(at->first);
  if (meeting_order_.size() <= kMostMeetings) return;
  meetings_.erase(meeting_order_.front());
  meeting_order_.pop_front();
}

bool Rendezvous::ends_what_it_began(const std::string& key) const {
  const auto meeting = meetings_.find(port_of(key));
  return meeting != meetings_.end() && meeting->second.size() > 1 &&
         std::ranges::all_of(meeting->second,
                             [this](const ProcId& proc) { return !spaces_.living_of({proc}).empty(); });
}

bool Rendezvous::key_has_tombstone(const std::string& key) const {
  if (key.ends_with(kAllHaveCome) && store_.contains(key)) return false;
  const bool over =
      std::ranges::any_of(dead_ports_, [&](const std::string& port) { return key.find(port) != key.npos; });
  return over && !ends_what_it_began(key);
}

bool Rendezvous::any_has_tombstone(const std::vector<std::string>& keys) const {
  return std::ranges::any_of(keys, [&](const std::string& key) { return key_has_tombstone(key); });
}

bool Rendezvous::any_has_tombstone(const RankRuns& procs) const {
  return std::ranges::any_of(procs.runs(), [&](const RankRun& run) {
    return std::ranges::find(dead_spaces_, run.nspace) != dead_spaces_.end();
  });
}

RendezvousReplies Rendezvous::contribute(const std::string& kind, RankRuns procs, const RequestOrigin& from,
                                         std::string blob, std::uint64_t round) {
  if (any_has_tombstone(procs)) return {{from, kPmixError, {}, {}}};
  for (const Answer& answer : answers_)
    if (answer.is_of(kind, procs, round)) return {{from, kPmixSuccess, answer.blob, {}}};
  const auto [at, opened] = collectives_.try_emplace({kind, std::move(procs)});
  Collective& collective = at->second;
  if (opened) see_who_lives(at->first.second, collective);
  auto& mine = collective.got[from.uid];
  // The same request a second time, after a change of lead.
  const bool repeated =
      std::ranges::any_of(mine, [&](const Contribution& c) { return c.from.id == from.id; });
  if (!repeated) mine.push_back({from, std::move(blob), round});
  collective.missing.erase(from.uid);
  RendezvousReplies replies;
  complete_if_ready(at, replies);
  return replies;
}

RendezvousReplies Rendezvous::answered(const std::string& kind, RankRuns procs, std::uint64_t round,
                                       std::string blob) {
  RendezvousReplies replies;
  const auto at = collectives_.find({kind, procs});
  if (at != collectives_.end()) {
    for (auto& [uid, queue] : at->second.got)
      std::erase_if(queue, [&](const Contribution& c) {
        if (c.round == round) replies.push_back({c.from, kPmixSuccess, blob, {}});
        return c.round == round;
      });
    if (std::ranges::all_of(at->second.got, [](const auto& entry) { return entry.second.empty(); }))
      collectives_.erase(at);
    else
      see_who_is_missing(at->second);
  }
  // Every pod says so that was answered.
  if (std::ranges::any_of(answers_, [&](const Answer& a) { return a.is_of(kind, procs, round); }))
    return replies;
  answers_.push_back({kind, std::move(procs), round, std::move(blob)});
  if (answers_.size() > kMostAnswers) answers_.pop_front();
  return replies;
}

void Rendezvous::see_who_lives(const RankRuns& procs, Collective& collective) const {
  collective.version = spaces_.version();
  collective.living = spaces_.living_of(procs);
  see_who_is_missing(collective);
}

void Rendezvous::see_who_is_missing(Collective& collective) {
  collective.missing.clear();
  for (const auto& [uid, count] : collective.living) {
    const auto got = collective.got.find(uid);
    if (got == collective.got.end() || got->second.empty()) collective.missing.insert(uid);
  }
}

void Rendezvous::complete_if_ready(Collectives::iterator at, RendezvousReplies& replies) {
  Collective& collective = at->second;
  if (collective.version != spaces_.version()) see_who_lives(at->first.second, collective);
  // Somebody may have come more than once for one who will not come any more.
  while (collective.missing.empty()) {
    std::string all;
    std::vector<RequestOrigin> waiting;
    for (auto& [uid, queue] : collective.got) {
      if (queue.empty()) continue;
      all += queue.front().blob;
      waiting.push_back(queue.front().from);
      queue.pop_front();
    }
    for (const RequestOrigin& to : waiting) replies.push_back({to, kPmixSuccess, all, {}});
    if (std::ranges::all_of(collective.got, [](const auto& entry) { return entry.second.empty(); })) {
      collectives_.erase(at);
      return;
    }
    see_who_is_missing(collective);
  }
}

RendezvousReplies Rendezvous::publish(const std::vector<Published>& data, const RequestOrigin& from) {
  for (const Published& datum : data)
    if (key_has_tombstone(datum.key)) return {{from, kPmixError, {}, {}}};
  for (const Published& datum : data) {
    store_[datum.key] = datum;
    note_meeting(datum);
  }
  RendezvousReplies replies = {{from, kPmixSuccess, {}, {}}};
  std::erase_if(lookups_, [&](const Lookup& lookup) { return answer_lookup(lookup, true, replies); });
  return replies;
}

bool Rendezvous::answer_lookup(const Lookup& lookup, bool wait, RendezvousReplies& replies) {
  const auto there = [&](const std::string& key) { return store_.contains(key); };
  if (wait && !std::ranges::all_of(lookup.keys, there)) return false;
  RendezvousReply reply{lookup.from, kPmixSuccess, {}, {}};
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

RendezvousReplies Rendezvous::lookup(const std::vector<std::string>& keys, bool wait, TimePoint until,
                                     const RequestOrigin& from) {
  if (any_has_tombstone(keys)) return {{from, kPmixNotFound, {}, {}}};
  RendezvousReplies replies;
  Lookup lookup{keys, until, from};
  if (!answer_lookup(lookup, wait, replies)) lookups_.push_back(std::move(lookup));
  return replies;
}

RendezvousReplies Rendezvous::unpublish(const std::vector<std::string>& keys, const ProcId& owner,
                                        const RequestOrigin& from) {
  std::erase_if(store_, [&](const auto& entry) {
    const bool named = keys.empty() || std::ranges::find(keys, entry.first) != keys.end();
    return named && entry.second.publisher == owner;
  });
  return {{from, kPmixSuccess, {}, {}}};
}

RendezvousReplies Rendezvous::rank_gone(const ProcId& proc) {
  RendezvousReplies replies;
  drop_what_has_ended(replies);
  const auto owner = spaces_.owner(proc);
  if (!owner) return replies;
  const ProcId whole{proc.nspace, kAllRanks};
  for (auto next = collectives_.begin(); next != collectives_.end();) {
    const auto at = next++;
    const auto& [kind, procs] = at->first;
    Collective& collective = at->second;
    const std::size_t named = std::size_t{procs.contains(proc)} + std::size_t{procs.contains(whole)};
    const auto host = collective.living.find(owner->uid);
    if (named == 0 || host == collective.living.end()) continue;
    host->second -= std::min(named, host->second);  // else it is about to be counted anew
    if (host->second == 0) {
      collective.missing.erase(owner->uid);
      collective.living.erase(host);
    }
    complete_if_ready(at, replies);
  }
  return replies;
}

RendezvousReplies Rendezvous::recheck() {
  RendezvousReplies replies;
  drop_what_has_ended(replies);
  for (auto next = collectives_.begin(); next != collectives_.end();) complete_if_ready(next++, replies);
  return replies;
}

RendezvousReplies Rendezvous::expire(TimePoint now) {
  RendezvousReplies replies;
  std::erase_if(lookups_, [&](const Lookup& lookup) {
    if (lookup.until > now) return false;
    replies.push_back({lookup.from, kPmixTimeout, {}, {}});
    return true;
  });
  return replies;
}

RendezvousReplies Rendezvous::end_change(const std::string& port, const std::string& nspace) {
  if (!port.empty())
    for (auto& [at, who] : meetings_)
      if (at.find(port) != at.npos) who.clear();
  add_tombstone(dead_ports_, port);
  add_tombstone(dead_spaces_, nspace);
  RendezvousReplies replies;
  drop_what_has_ended(replies);
  return replies;
}

RendezvousReplies Rendezvous::give_up_world(const std::string& port, const std::optional<ProcId>& out) {
  add_tombstone(dead_ports_, port);
  if (out)
    for (auto& [at, who] : meetings_)
      if (at.find(port) != at.npos && who.contains(*out)) who.clear();
  RendezvousReplies replies;
  drop_what_has_ended(replies);
  return replies;
}

void Rendezvous::drop_what_has_ended(RendezvousReplies& replies) {
  std::erase_if(lookups_, [&](const Lookup& lookup) {
    if (!any_has_tombstone(lookup.keys)) return false;
    replies.push_back({lookup.from, kPmixNotFound, {}, {}});
    return true;
  });
  std::erase_if(store_, [&](const auto& entry) { return key_has_tombstone(entry.first); });
  std::erase_if(collectives_, [&](const auto& entry) {
    if (!any_has_tombstone(entry.first.second)) return false;
    for (const auto& [uid, queue] : entry.second.got)
      for (const Contribution& c : queue) replies.push_back({c.from, kPmixError, {}, {}});
    return true;
  });
}

RendezvousState Rendezvous::hand_over() const {
  RendezvousState state{{}, dead_ports_, dead_spaces_};
  for (const auto& [key, datum] : store_) state.data.push_back(datum);
  return state;
}

void Rendezvous::take_over(const RendezvousState& state) {
  for (const Published& datum : state.data) store_[datum.key] = datum;
  for (const std::string& port : state.dead_ports) add_tombstone(dead_ports_, port);
  for (const std::string& space : state.dead_spaces) add_tombstone(dead_spaces_, space);
}

}  // namespace empi::agent
