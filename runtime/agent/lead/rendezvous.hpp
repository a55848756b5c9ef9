// SPDX-License-Identifier: Apache-2.0
// What the lead does for the PMIx servers of all pods: collectives (fence, connect, disconnect) and the
// publish/lookup store. Pure: requests in, replies out; the sockets are elsewhere.
//
// Nothing ever waits here for a participant that is gone: when a rank exits, `rank_gone` completes what its
// absence completes, and `end_change` fails whatever belongs to a change that was given up, now and later
// (its tombstone). Open MPI asks with all ranks by name, once per pod: they are kept as runs, and no call
// walks over more than those and the pods that they are of.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/protocol/namespaces.hpp"
#include "runtime/protocol/pmix_words.hpp"

namespace empi::agent {

// A request waits in the agent `uid` under number `id`.
struct RequestOrigin {
  std::string uid;
  std::uint64_t id = 0;
};

struct RendezvousReply {
  RequestOrigin to;
  int status = kPmixSuccess;
  std::string blob;              // fence: all agents' contributions, one after the other
  std::vector<Published> found;  // lookup
};
using RendezvousReplies = std::vector<RendezvousReply>;

class Rendezvous {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit Rendezvous(const NamespaceTable& spaces) : spaces_(spaces) {}

  // `kind`: "fence", "connect" or "disconnect"; every participating agent contributes once.
  // `round`: how many of these it has asked for before.
  RendezvousReplies contribute(const std::string& kind, RankRuns procs, const RequestOrigin& from,
                               std::string blob, std::uint64_t round = 0);
  // A lead that is lost had answered it so to one of the pods, and perhaps not to all: to those that wait,
  // and to who asks later.
  RendezvousReplies answered(const std::string& kind, RankRuns procs, std::uint64_t round, std::string blob);
  RendezvousReplies publish(const std::vector<Published>& data, const RequestOrigin& from);
  // wait: reply only when all keys are there (or at `until`).
  RendezvousReplies lookup(const std::vector<std::string>& keys, bool wait, TimePoint until,
                           const RequestOrigin& from);
  RendezvousReplies unpublish(const std::vector<std::string>& keys, const ProcId& owner,
                              const RequestOrigin& from);

  // The namespaces know already: a rank has exited that had not before; pods have gone, namespaces have
  // changed.
  RendezvousReplies rank_gone(const ProcId& proc);
  RendezvousReplies recheck();
  RendezvousReplies expire(TimePoint now);  // lookups whose time is over

  // The change is over, well or not: keys that contain `port` and collectives that include `nspace` (a
  // rolled back change's joiners; empty after a commit) fail at once from now on.
  RendezvousReplies end_change(const std::string& port, const std::string& nspace);
  // A world whose ports contain `port` is not made any more. Two sides that have met at one of them, by a
  // datum of each, end that call of theirs: Open MPI tells nobody but its root when it fails in the middle
  // (quirk accept-root). What has not begun fails at once from now on, and what `out` had, which has left.
  RendezvousReplies give_up_world(const std::string& port, const std::optional<ProcId>& out);

  // Published data and tombstones for the next lead. Pending requests are not handed over: agents send them
  // again to the new lead.
  RendezvousState hand_over() const;
  void take_over(const RendezvousState& state);

  std::size_t pending() const { return collectives_.size() + lookups_.size(); }

 private:
  struct Contribution {
    RequestOrigin from;
    std::string blob;
    std::uint64_t round = 0;
  };
  struct Answer {
    std::string kind;
    RankRuns procs;
    std::uint64_t round = 0;
    std::string blob;
    bool is_of(const std::string& k, const RankRuns& p, std::uint64_t r) const {
      return round == r && kind == k && procs == p;
    }
  };
  struct Collective {
    std::map<std::string, std::deque<Contribution>> got;  // by pod uid
    std::map<std::string, std::size_t> living;            // of the ranks that are named, by their pod's uid
    std::set<std::string> missing;                        // those of these pods that have not contributed
    std::uint64_t version = 0;                            // of the namespaces that this was taken from
  };
  struct Lookup {
    std::vector<std::string> keys;
    TimePoint until;
    RequestOrigin from;
  };
  using Collectives = std::map<std::pair<std::string, RankRuns>, Collective>;  // by kind and ranks

  void see_who_lives(const RankRuns& procs, Collective& collective) const;
  static void see_who_is_missing(Collective& collective);
  void complete_if_ready(Collectives::iterator at, RendezvousReplies& replies);
  bool answer_lookup(const Lookup& lookup, bool wait, RendezvousReplies& replies);
  bool ends_what_it_began(const std::string& key) const;
  bool key_has_tombstone(const std::string& key) const;
  void note_meeting(const Published& datum);
  void drop_what_has_ended(RendezvousReplies& replies);
  bool any_has_tombstone(const std::vector<std::string>& keys) const;
  bool any_has_tombstone(const RankRuns& procs) const;

  const NamespaceTable& spaces_;
  Collectives collectives_;
  std::map<std::string, Published> store_;
  std::map<std::string, std::set<ProcId>> meetings_;  // by port: who has published there; bounded
  std::deque<std::string> meeting_order_;             // these ports, the newest last
  std::vector<Lookup> lookups_;
  std::deque<Answer> answers_;           // of a lead before; bounded
  std::deque<std::string> dead_ports_;   // bounded
  std::deque<std::string> dead_spaces_;  // bounded
};

}  // namespace empi::agent
