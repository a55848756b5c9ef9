// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/namespaces.hpp"

#include <algorithm>

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

Namespace lay_out(const std::string& name, std::vector<Member>& members) {
  Namespace ns{name, {}};
  std::uint32_t next = 0;
  for (Member& member : members) {
    member.nspace = name;
    member.first_rank = next;
    ns.nodes.push_back(
        {member.uid, member.name, member.address, next, static_cast<std::uint32_t>(member.slots)});
    next += member.slots;
  }
  return ns;
}

void NamespaceTable::add(Namespace ns) {
  if (spaces_.contains(ns.name)) return;
  exits_[ns.name].of_node.resize(ns.nodes.size());
  const std::string name = ns.name;
  spaces_.emplace(name, std::move(ns));
  ++version_;
}

void NamespaceTable::remove(const std::string& name) {
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
  for (const auto& [name, ns] : spaces_)
    if (const NamespaceNode* node = ns.node_of_pod(uid))
      for (std::uint32_t i = 0; i < node->count; ++i) exited(ns, node->first + i);
  ++version_;
}

std::optional<NamespaceNode> NamespaceTable::owner(const ProcId& proc) const {
  const Namespace* ns = find(proc.nspace);
  const NamespaceNode* node = ns ? ns->node_of(proc.rank) : nullptr;
  return node ? std::optional(*node) : std::nullopt;
}

std::map<std::string, std::size_t> NamespaceTable::living_of(const std::vector<ProcId>& procs) const {
  std::map<std::string, std::size_t> living;
  for (const ProcId& proc : procs) {
    const Namespace* ns = find(proc.nspace);
    if (!ns) continue;
    const Exits& exits = exits_.at(ns->name);
    if (proc.rank == kAllRanks) {
      for (std::size_t i = 0; i < ns->nodes.size(); ++i)
        if (const NamespaceNode& node = ns->nodes[i]; node.count > exits.of_node[i])
          living[node.uid] += node.count - exits.of_node[i];
    } else if (const NamespaceNode* node = ns->node_of(proc.rank); node && !exits.ranks.contains(proc.rank)) {
      ++living[node->uid];
    }
  }
  return living;
}

std::vector<std::string> NamespaceTable::empty_spaces() const {
  std::vector<std::string> names;
  for (const auto& [name, ns] : spaces_)
    if (exits_.at(name).ranks.size() >= ns.size()) names.push_back(name);
  return names;
}

}  // namespace empi
