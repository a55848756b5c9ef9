// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/namespaces.hpp"

#include <algorithm>
#include <iterator>

namespace empi {

std::uint32_t Namespace::size() const {
  std::uint32_t sum = 0;
  for (const NamespaceNode& node : nodes) sum += node.count;
  return sum;
}

const NamespaceNode* Namespace::node_of(std::uint32_t rank) const {
  const auto after = std::ranges::upper_bound(nodes, rank, {}, &NamespaceNode::first);
  if (after == nodes.begin()) return nullptr;
  const NamespaceNode& node = *std::prev(after);
  return rank - node.first < node.count ? &node : nullptr;
}

const NamespaceNode* Namespace::node_of_pod(const std::string& uid) const {
  for (const NamespaceNode& node : nodes)
    if (node.uid == uid) return &node;
  return nullptr;
}

Namespace namespace_of(const std::string& name, const std::vector<Member>& members) {
  Namespace ns{name, {}};
  for (const Member& member : members)
    ns.nodes.push_back({member.uid, member.name, member.address, member.first_rank,
                        static_cast<std::uint32_t>(member.slots)});
  return ns;
}

Namespace lay_out(const std::string& name, std::vector<Member>& members) {
  std::uint32_t next = 0;
  for (Member& member : members) {
    member.nspace = name;
    member.first_rank = next;
    next += member.slots;
  }
  return namespace_of(name, members);
}

void NamespaceTable::add(Namespace ns) {
  if (spaces_.contains(ns.name)) return;
  exits_[ns.name].of_node.resize(ns.nodes.size());
  const std::string name = ns.name;
  for (const NamespaceNode& node : ns.nodes) pods_[node.uid] = name;
  spaces_.emplace(name, std::move(ns));
  ++version_;
}

void NamespaceTable::remove(const std::string& name) {
  if (const Namespace* ns = find(name))
    for (const NamespaceNode& node : ns->nodes)
      if (const auto at = pods_.find(node.uid); at != pods_.end() && at->second == name) pods_.erase(at);
  spaces_.erase(name);
  exits_.erase(name);
  ++version_;
}

const Namespace* NamespaceTable::find(const std::string& name) const {
  auto at = spaces_.find(name);
  return at == spaces_.end() ? nullptr : &at->second;
}

bool NamespaceTable::exited(const Namespace& ns, std::uint32_t rank) {
  const NamespaceNode* node = ns.node_of(rank);
  Exits& exits = exits_.at(ns.name);
  if (!node || !exits.ranks.insert(rank).second) return false;
  ++exits.of_node[static_cast<std::size_t>(node - ns.nodes.data())];
  return true;
}

bool NamespaceTable::rank_exited(const ProcId& proc) {
  const Namespace* ns = find(proc.nspace);
  return ns && exited(*ns, proc.rank);
}

void NamespaceTable::pod_gone(const std::string& uid) {
  ++version_;
  const auto at = pods_.find(uid);
  const Namespace* ns = at == pods_.end() ? nullptr : find(at->second);
  if (const NamespaceNode* node = ns ? ns->node_of_pod(uid) : nullptr)
    for (std::uint32_t i = 0; i < node->count; ++i) exited(*ns, node->first + i);
}

RankRuns NamespaceTable::ended() const {
  std::vector<ProcId> procs;
  for (const auto& [name, exits] : exits_)
    for (const std::uint32_t rank : exits.ranks) procs.push_back({name, rank});
  return procs;
}

void NamespaceTable::take_over_ended(const RankRuns& ranks) {
  ++version_;
  for (const RankRun& run : ranks.runs())
    if (const Namespace* ns = find(run.nspace))
      for (std::uint64_t rank = run.first; rank < std::min<std::uint64_t>(run.end(), ns->size()); ++rank)
        exited(*ns, static_cast<std::uint32_t>(rank));
}

std::optional<NamespaceNode> NamespaceTable::owner(const ProcId& proc) const {
  const Namespace* ns = find(proc.nspace);
  const NamespaceNode* node = ns ? ns->node_of(proc.rank) : nullptr;
  return node ? std::optional(*node) : std::nullopt;
}

std::map<std::string, std::size_t> NamespaceTable::living_of(const RankRuns& procs) const {
  std::map<std::string, std::size_t> living;
  for (const RankRun& run : procs.runs())
    if (const Namespace* ns = find(run.nspace))
      count_living(*ns, run.first == kAllRanks ? RankRun{run.nspace, 0, ns->size()} : run, living);
  return living;
}

void NamespaceTable::count_living(const Namespace& ns, const RankRun& run,
                                  std::map<std::string, std::size_t>& living) const {
  const Exits& exits = exits_.at(ns.name);
  // From the node on that has the first of them.
  auto node = std::ranges::upper_bound(ns.nodes, run.first, {}, &NamespaceNode::first);
  if (node != ns.nodes.begin()) --node;
  for (; node != ns.nodes.end() && node->first < run.end(); ++node) {
    const std::uint32_t first = std::max(run.first, node->first),
                        end = std::min(run.end(), node->first + node->count);
    if (first >= end) continue;
    const auto gone = end - first == node->count
                          ? exits.of_node[static_cast<std::size_t>(node - ns.nodes.begin())]
                          : std::distance(exits.ranks.lower_bound(first), exits.ranks.lower_bound(end));
    if (const std::size_t left = end - first - static_cast<std::size_t>(gone); left > 0)
      living[node->uid] += left;
  }
}

std::vector<std::string> NamespaceTable::empty_spaces() const {
  std::vector<std::string> names;
  for (const auto& [name, ns] : spaces_)
    if (exits_.at(name).ranks.size() >= ns.size()) names.push_back(name);
  return names;
}

}  // namespace empi
