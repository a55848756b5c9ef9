// SPDX-License-Identifier: Apache-2.0
// What a rank's library and its agent say to each other over the pod's Unix socket (SOCK_SEQPACKET, one JSON
// object a datagram). The fast path is not here: an idle probe only reads the page.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/checkpoint_news.hpp"
#include "runtime/protocol/ids.hpp"

namespace empi {

// Rank -> agent.
struct RankReport {
  enum class Kind {
    Hello,    // past MPI_Init, control thread running. Fields: proc, tasks
    Ready,    // whether this rank can build: its helper thread waits for the word (ok), or why it cannot.
              // Fields: change, ok, error
    Built,    // the next world is there (ok) or the attempt has ended (not ok). Fields: change, ok, error,
              // build_ms
              // Of a master-worker program: a joiner is one of the workers (ok), or could not become one
    AtBegin,  // a joiner waits in MPI_Comm_adapt_begin. Fields: change
    Agreed,   // end of the window: ok = committed, else everything is as it was. Fields: change, ok, error,
              // wait_ms, pause_ms, redistribute_ms, bytes. Of a master-worker program: this leaver has left
    Past,     // nothing of this rank uses what the union shared any more. Fields: change
    Adapted,  // a few iterations later: what the change cost this rank. Fields: change, lost_ms
    Finalizing,  // the rank has entered MPI_Finalize (or left its loop)
    Finalized,   // its MPI_Finalize is complete: an exit from now on is no failure
    Queue,       // of a master-worker program: this rank keeps the queue from now on. Fields: address, mirror
    WorldDropped,  // a world of single ranks will not be built. Fields: address (how what is published for it
                   // begins), ok (false: nor does this rank end the calls that it has begun for it)
    Checkpoint,    // a checkpoint is whole, or why there is none, or what the program goes on from. Fields:
                   // checkpoint
    Recoverable,   // what this program has of a lost rank is on another pod by now: it can go on without it
    Recovered      // the world that was ordered by Recover has its data and goes on (ok), or cannot. Fields:
                   // address (name of that world), ok, error, iteration (that it goes on from), repeated,
                   // lost_ms. Without an address: what is left of the job waits for others no longer
  };
  Kind kind = Kind::Hello;
  ProcId proc;
  std::string change;
  bool ok = true;
  std::string error;
  double build_ms = 0, wait_ms = 0, pause_ms = 0, redistribute_ms = 0, lost_ms = 0;
  std::int64_t bytes = 0;   // of data that this rank has moved
  int parked = 0;           // helper threads that never came back, for the metric
  bool tasks = false;       // a master-worker program (elastic::MasterWorker)
  std::string address;      // where workers reach the queue: host:port/key
  std::string mirror = {};  // the rank (nspace/rank) that has a copy of the queue; "": none
  std::int64_t iteration = 0;
  std::int64_t repeated = 0;  // iterations that are done again
  CheckpointNews checkpoint = {};

  static void describe(auto& m, auto&& field) {
    field("kind", m.kind);
    field("proc", m.proc);
    field("change", m.change);
    field("ok", m.ok);
    field("error", m.error);
    field("buildMillis", m.build_ms);
    field("waitMillis", m.wait_ms);
    field("pauseMillis", m.pause_ms);
    field("redistributeMillis", m.redistribute_ms);
    field("lostMillis", m.lost_ms);
    field("bytes", m.bytes);
    field("parked", m.parked);
    field("tasks", m.tasks);
    field("address", m.address);
    field("mirror", m.mirror);
    field("iteration", m.iteration);
    field("repeated", m.repeated);
    field("checkpoint", m.checkpoint);
  }
};
std::string_view to_string(RankReport::Kind kind);
bool enum_from(std::string_view text, RankReport::Kind& kind);

// Agent -> rank.
struct RankOrder {
  enum class Kind {
    Prepare,  // say whether you can build the next world of `change` (old ranks accept on `port`, joiners
              // connect), and wait for the word
    Build,    // that word. Fields: change
    Cancel,   // give the attempt up: revoke what is being built (or the union, in the window) and report
    Release,  // a leaver may go now
    // Of a master-worker program. Fields: change and
    Attach,  // a joiner is to become a worker. port: address of the queue
    Leave,  // leave when the task in hand is done. procs: all that leave in this change; port: id of the rank
            // (nspace/rank) that keeps the queue next, if this one does now
    Lost,   // procs: ranks that are gone, and will not come back. port: if one of them kept the queue of
            // tasks, id of the rank that mirrors it and keeps it from now on
    Recover  // ranks of the world are gone: leave it, and make one of `procs`, in their order, named `port`
  };
  Kind kind = Kind::Prepare;
  std::string change;
  std::string port;      // opaque name both sides pass to accept and connect; empty when no rank joins
  bool joining = false;  // this rank is a joiner
  bool leaving = false;  // this rank leaves
  int staying_count = 0, leaving_count = 0, joining_count = 0;  // ranks
  std::vector<ProcId> procs;

  static void describe(auto& m, auto&& field) {
    field("kind", m.kind);
    field("change", m.change);
    field("port", m.port);
    field("joining", m.joining);
    field("leaving", m.leaving);
    field("stayingCount", m.staying_count);
    field("leavingCount", m.leaving_count);
    field("joiningCount", m.joining_count);
    field("procs", m.procs);
  }
};
std::string_view to_string(RankOrder::Kind kind);
bool enum_from(std::string_view text, RankOrder::Kind& kind);

std::string encode(const RankReport& report);
std::string encode(const RankOrder& order);
// Nothing when the text is not such a message.
std::optional<RankReport> decode_report(std::string_view text);
std::optional<RankOrder> decode_order(std::string_view text);

}  // namespace empi
