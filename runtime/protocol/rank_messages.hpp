// What a rank's library and its agent say to each other over the pod's Unix socket (SOCK_SEQPACKET, one JSON
// object a datagram). The fast path is not here: an idle probe only reads the page.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"

namespace empi {

// Rank -> agent.
struct RankReport {
  enum class Kind {
    Hello,  // past MPI_Init, control thread running. Fields: proc, pid, tasks
    Built,  // the next world is there (ok) or the attempt has ended (not ok). Fields: change, ok, error, *_ms
            // Of a master-worker program: a joiner is one of the workers (ok), or could not become one
    AtBegin,  // a joiner waits in MPI_Comm_adapt_begin. Fields: change
    Agreed,   // end of the window: ok = committed, else everything is as it was. Fields: change, ok, error,
              // wait_ms, pause_ms, redistribute_ms, bytes. Of a master-worker program: this leaver has left
    Past,     // nothing of this rank uses what the union shared any more. Fields: change
    Adapted,  // a few iterations later: what the change cost this rank. Fields: change, lost_ms
    Finalizing,   // the rank has entered MPI_Finalize (or left its loop)
    Finalized,    // its MPI_Finalize is complete: an exit from now on is no failure
    Queue,        // of a master-worker program: this rank keeps the queue from now on. Fields: address
    WorldDropped  // of a master-worker program: the world at the end of a phase will not be built. Fields:
                  // address (what the keys that are published for it begin with)
  };
  Kind kind = Kind::Hello;
  ProcId proc;
  int pid = 0;
  std::string change;
  bool ok = true;
  std::string error;
  double duplicate_ms = 0, accept_ms = 0, merge_ms = 0, split_ms = 0, warm_ms = 0, build_ms = 0;
  double wait_ms = 0, pause_ms = 0, redistribute_ms = 0, lost_ms = 0;
  std::int64_t bytes = 0;
  int parked = 0;       // helper threads that never came back, for the metric
  bool tasks = false;   // a master-worker program (elastic::MasterWorker)
  std::string address;  // where workers reach the queue: host:port/key
};

// Agent -> rank.
struct RankOrder {
  enum class Kind {
    Build,    // build the next world of `change` (old ranks accept on `port`, joiners connect)
    Cancel,   // give the attempt up: revoke what is being built (or the union, in the window) and report
    Release,  // a leaver may go now
    // Of a master-worker program. Fields: change and
    Attach,  // a joiner is to become a worker. port: address of the queue
    Leave,  // leave when the task in hand is done. procs: all that leave in this change; port: id of the rank
            // (nspace/rank) that keeps the queue next, if this one does now
    Lost,   // procs: ranks that are gone, and will not come back
  };
  Kind kind = Kind::Build;
  std::string change;
  std::string port;      // opaque name both sides pass to accept and connect; empty when nobody joins
  bool joining = false;  // this rank is a joiner
  bool leaving = false;  // this rank leaves
  int staying_count = 0, leaving_count = 0, joining_count = 0;  // ranks
  std::int64_t epoch = 0;                                       // the epoch that a commit makes
  std::vector<ProcId> procs;
  std::uint64_t probes = 0;  // not used by old ranks; joiners inherit the count at commit (it restarts at 0)
};

std::string encode(const RankReport& report);
std::string encode(const RankOrder& order);
// Nothing when the text is not such a message.
std::optional<RankReport> decode_report(std::string_view text);
std::optional<RankOrder> decode_order(std::string_view text);

}  // namespace empi
