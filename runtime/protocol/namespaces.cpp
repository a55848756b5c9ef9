// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/namespaces.hpp"

namespace empi {

std::uint32_t Namespace::size() const {
  std::uint32_t sum = 0;
  for (const NamespaceNode& node : nodes) sum += node.count;
  return sum;
}

const NamespaceNode* Namespace::node_of(std::uint32_t rank) const {
  for (const NamespaceNode& node : nodes)
    if (rank >= node.first && rank - node.first < node.count) return &node;
  return nullptr;
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

void NamespaceTable::add(Namespace ns) { spaces_.try_emplace(ns.name, std::move(ns)); }

void NamespaceTable::remove(const std::string& name) {
  spaces_.erase(name);
  std::erase_if(exited_, [&](const ProcId& proc) { return proc.nspace == name; });
}

const Namespace* NamespaceTable::find(const std::string& name) const {
  auto at = spaces_.find(name);
  return at == spaces_.end() ? nullptr : &at->second;
}

void NamespaceTable::pod_gone(const std::string& uid) {
  for (const auto& [name, ns] : spaces_)
    if (const NamespaceNode* node = ns.node_of_pod(uid))
      for (std::uint32_t i = 0; i < node->count; ++i) exited_.insert({name, node->first + i});
}

std::optional<NamespaceNode> NamespaceTable::owner(const ProcId& proc) const {
  const Namespace* ns = find(proc.nspace);
  const NamespaceNode* node = ns ? ns->node_of(proc.rank) : nullptr;
  return node ? std::optional(*node) : std::nullopt;
}

std::set<std::string> NamespaceTable::hosts_of(const std::vector<ProcId>& procs) const {
  std::set<std::string> hosts;
  for (const ProcId& proc : procs) {
    const Namespace* ns = find(proc.nspace);
    if (!ns) continue;
    for (const NamespaceNode& node : ns->nodes)
      for (std::uint32_t i = 0; i < node.count; ++i) {
        const ProcId candidate{proc.nspace, node.first + i};
        const bool wanted = proc.rank == kAllRanks || proc.rank == candidate.rank;
        if (wanted && !exited_.contains(candidate)) hosts.insert(node.uid);
      }
  }
  return hosts;
}

std::vector<std::string> NamespaceTable::empty_spaces() const {
  std::vector<std::string> names;
  for (const auto& [name, ns] : spaces_)
    if (hosts_of({{name, kAllRanks}}).empty()) names.push_back(name);
  return names;
}

}  // namespace empi
