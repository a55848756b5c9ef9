// SPDX-License-Identifier: Apache-2.0
// PMIx namespaces of the job: which rank lives in which pod. Pure values.
//
// Every agent knows every namespace. A namespace is laid out once, when its pods join together, and never
// changes; its ranks end one by one. A pod has ranks in exactly one namespace.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/membership.hpp"
#include "runtime/protocol/rank_runs.hpp"

namespace empi {

struct NamespaceNode {
  std::string uid;   // pod
  std::string host;  // its name, the host name that PMIx and Open MPI see
  std::string address;
  std::uint32_t first = 0;  // its ranks are first .. first + count - 1
  std::uint32_t count = 0;

  bool operator==(const NamespaceNode&) const = default;
  static void describe(auto& m, auto&& field) {
    field("uid", m.uid);
    field("host", m.host);
    field("address", m.address);
    field("first", m.first);
    field("count", m.count);
  }
};

struct Namespace {
  std::string name;
  std::vector<NamespaceNode> nodes;

  bool operator==(const Namespace&) const = default;
  static void describe(auto& m, auto&& field) {
    field("name", m.name);
    field("nodes", m.nodes);
  }

  std::uint32_t size() const;
  const NamespaceNode* node_of(std::uint32_t rank) const;  // nodes are in the order of their ranks
  const NamespaceNode* node_of_pod(const std::string& uid) const;
};

// Of members that have been laid out in it.
Namespace namespace_of(const std::string& name, const std::vector<Member>& members);
// Lays the pods' ranks out in order, contiguous per pod, and notes name and first rank in the members.
Namespace lay_out(const std::string& name, std::vector<Member>& members);

class NamespaceTable {
 public:
  void add(Namespace ns);  // a second time: no change
  void remove(const std::string& name);
  const Namespace* find(const std::string& name) const;
  const std::map<std::string, Namespace>& all() const { return spaces_; }

  // False when that is known, or there is no such rank.
  bool rank_exited(const ProcId& proc);
  void pod_gone(const std::string& uid);
  // All that have, and, for the next one who has to know, that these have.
  RankRuns ended() const;
  void take_over_ended(const RankRuns& ranks);
  // Grows with everything but a single rank's end.
  std::uint64_t version() const { return version_; }

  // The pod that hosts the rank, nothing when none does.
  std::optional<NamespaceNode> owner(const ProcId& proc) const;
  // Pods that host any of `procs` (rank kAllRanks: the whole namespace) that has not exited, and how many of
  // them each does.
  std::map<std::string, std::size_t> living_of(const RankRuns& procs) const;
  // Namespaces that have no living rank any more.
  std::vector<std::string> empty_spaces() const;

 private:
  struct Exits {
    std::set<std::uint32_t> ranks;
    std::vector<std::uint32_t> of_node;  // how many
  };
  bool exited(const Namespace& ns, std::uint32_t rank);
  void count_living(const Namespace& ns, const RankRun& run,
                    std::map<std::string, std::size_t>& living) const;

  std::map<std::string, Namespace> spaces_;
  std::map<std::string, Exits> exits_;       // by namespace
  std::map<std::string, std::string> pods_;  // uid -> namespace
  std::uint64_t version_ = 0;
};

}  // namespace empi
