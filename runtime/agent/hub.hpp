// What the lead does for the PMIx servers of all pods: collectives (fence, connect, disconnect) and the
// publish/lookup store. Pure: requests in, replies out; the sockets are elsewhere.
//
// Nothing ever waits here for a participant that is gone: when a rank exits, `recheck` completes what its
// absence completes, and `end_change` fails whatever belongs to a change that was given up, now and later
// (its tombstone).
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/namespaces.hpp"

namespace empi::agent {

// PMIx status codes that the hub itself returns (checked against pmix_common.h in pmix_server.cpp).
inline constexpr int kPmixSuccess = 0;
inline constexpr int kPmixError = -1;
inline constexpr int kPmixTimeout = -24;
inline constexpr int kPmixNotFound = -46;

// A request waits in the agent `uid` under number `id`.
struct RequestOrigin {
  std::string uid;
  std::uint64_t id = 0;
};

// A published datum: `value` is a packed PMIx info, opaque here.
struct Published {
  std::string key;
  ProcId publisher;
  std::string value;
  bool first_read = false;  // gone after the first lookup that returns it
};

struct HubReply {
  RequestOrigin to;
  int status = kPmixSuccess;
  std::string blob;              // fence: all agents' contributions, one after the other
  std::vector<Published> found;  // lookup
};
using HubReplies = std::vector<HubReply>;

class Hub {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit Hub(const NamespaceTable& spaces) : spaces_(spaces) {}

  // `kind`: "fence", "connect" or "disconnect"; every participating agent contributes once.
  HubReplies contribute(const std::string& kind, std::vector<ProcId> procs, const RequestOrigin& from,
                        std::string blob);
  HubReplies publish(const std::vector<Published>& data, const RequestOrigin& from);
  // wait: reply only when all keys are there (or at `until`).
  HubReplies lookup(const std::vector<std::string>& keys, bool wait, TimePoint until,
                    const RequestOrigin& from);
  HubReplies unpublish(const std::vector<std::string>& keys, const ProcId& owner, const RequestOrigin& from);

  HubReplies recheck();              // a rank or pod has gone, a namespace was removed
  HubReplies expire(TimePoint now);  // lookups whose time is over

  // The change is over, well or not: keys that contain `port` and collectives that include `nspace` (a
  // rolled back change's joiners; empty after a commit) fail at once from now on.
  HubReplies end_change(const std::string& port, const std::string& nspace);

  // Published data and tombstones for the next lead. Pending requests are not handed over: agents send them
  // again to the new lead.
  nlohmann::json hand_over() const;
  void take_over(const nlohmann::json& state);

  std::size_t pending() const { return collectives_.size() + lookups_.size(); }

 private:
  struct Contribution {
    RequestOrigin from;
    std::string blob;
  };
  struct Collective {
    std::vector<ProcId> procs;
    std::map<std::string, std::deque<Contribution>> got;  // by pod uid
  };
  struct Lookup {
    std::vector<std::string> keys;
    TimePoint until;
    RequestOrigin from;
  };
  using CollectiveKey = std::pair<std::string, std::vector<ProcId>>;

  void complete_if_ready(const CollectiveKey& key, HubReplies& replies);
  bool answer_lookup(const Lookup& lookup, bool wait, HubReplies& replies);
  bool entombed_key(const std::string& key) const;
  bool entombed(const std::vector<std::string>& keys) const;
  bool entombed(const std::vector<ProcId>& procs) const;

  const NamespaceTable& spaces_;
  std::map<CollectiveKey, Collective> collectives_;
  std::map<std::string, Published> store_;
  std::vector<Lookup> lookups_;
  std::deque<std::string> dead_ports_;   // bounded
  std::deque<std::string> dead_spaces_;  // bounded
};

}  // namespace empi::agent
