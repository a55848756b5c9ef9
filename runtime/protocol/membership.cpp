// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/membership.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace empi {

std::vector<std::string> uids_of(const std::vector<Member>& members) {
  std::vector<std::string> uids;
  for (const Member& member : members) uids.push_back(member.uid);
  return uids;
}

const Member* Membership::find(const std::string& uid) const {
  auto at = std::ranges::find(members, uid, &Member::uid);
  return at == members.end() ? nullptr : &*at;
}

int Membership::ranks() const {
  int sum = 0;
  for (const Member& member : members) sum += member.slots;
  return sum;
}

int Membership::world_rank(const std::string& uid) const {
  int rank = 0;
  for (const Member& member : members) {
    if (member.uid == uid) return rank;
    rank += member.slots;
  }
  return -1;
}

Membership next_membership(const Membership& current, const std::vector<Member>& added,
                           const std::vector<std::string>& removed) {
  Membership next{Epoch{current.epoch.value + 1}, {}};
  const std::set<std::string_view> gone(removed.begin(), removed.end());
  std::ranges::copy_if(current.members, std::back_inserter(next.members),
                       [&](const Member& m) { return !gone.contains(m.uid); });
  std::ranges::copy(added, std::back_inserter(next.members));
  return next;
}

}  // namespace empi
