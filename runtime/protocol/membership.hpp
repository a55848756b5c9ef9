// SPDX-License-Identifier: Apache-2.0
// Who is in the job: pods in world-rank order. Pure values; JSON forms in json.hpp.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"

namespace empi {

// A pod and its agent. Identity is the uid: a new pod may carry an old name.
struct Member {
  std::string uid;
  std::string name;              // pod name, also the host name that PMIx and Open MPI see
  std::string address;           // host:port of the agent
  int slots = 1;                 // ranks in this pod
  std::string nspace;            // PMIx namespace of its ranks, given by the lead when the pod joins
  std::uint32_t first_rank = 0;  // rank within nspace of its first rank; the others follow
  bool operator==(const Member&) const = default;
};

std::vector<std::string> uids_of(const std::vector<Member>& members);

// A committed membership. World ranks count through `members` in order, slot by slot.
struct Membership {
  Epoch epoch;
  std::vector<Member> members;
  bool operator==(const Membership&) const = default;

  const Member* find(const std::string& uid) const;
  int ranks() const;
  // First world rank of the pod; -1 when it is no member.
  int world_rank(const std::string& uid) const;
  const Member& lead() const { return members.front(); }
};

// The membership that follows when `removed` leave and `added` are appended (old ranks keep their order).
Membership next_membership(const Membership& current, const std::vector<Member>& added,
                           const std::vector<std::string>& removed);

}  // namespace empi
