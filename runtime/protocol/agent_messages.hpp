// SPDX-License-Identifier: Apache-2.0
// All that agents say to one another. Each kind of message is described here and nowhere else: its JSON and
// CBOR (agent_messages.cpp) and its part of docs/protocol.md follow from it.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/protocol/change_plan.hpp"
#include "runtime/protocol/lead_state.hpp"
#include "runtime/protocol/pmix_words.hpp"
#include "runtime/protocol/rank_messages.hpp"
#include "runtime/protocol/rank_runs.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi {

// --- Requests of PMIx servers: `id` is the sender's, for the Reply.

struct Collective {
  static constexpr std::string_view
      kOp = "collective",
      kDoc =
          "To the lead: this pod's part of a fence, connect or disconnect; or, to "
          "a new lead, how the one before has answered it.";
  std::uint64_t id = 0;
  std::string kind;
  RankRuns procs;  // of all pods; rank kAllRanks: the whole namespace
  std::string blob;
  std::uint64_t round = 0;  // how many of this kind with these ranks this pod has asked for before
  bool answered = false;    // `blob` is the answer
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("kind", m.kind);
    field("procs", m.procs);
    field("blob", binary(m.blob));
    field("round", m.round);
    field("answered", m.answered);
  }
};

struct Publish {
  static constexpr std::string_view kOp = "publish", kDoc = "To the lead: data for everybody.";
  std::uint64_t id = 0;
  std::vector<Published> data;
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("data", m.data);
  }
};

struct Lookup {
  static constexpr std::string_view kOp = "lookup", kDoc = "To the lead: published data, by key.";
  std::uint64_t id = 0;
  std::vector<std::string> keys;
  bool wait = false;  // until all are there
  int timeout_s = 0;  // 0: for ever
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("keys", m.keys);
    field("wait", m.wait);
    field("timeoutSeconds", m.timeout_s);
  }
};

struct Unpublish {
  static constexpr std::string_view kOp = "unpublish",
                                    kDoc = "To the lead: take `owner`'s data back; no keys: all.";
  std::uint64_t id = 0;
  std::vector<std::string> keys;
  ProcId owner;
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("keys", m.keys);
    field("owner", m.owner);
  }
};

struct Modex {
  static constexpr std::string_view kOp = "modex", kDoc = "To the pod of `proc`: its connection data.";
  std::uint64_t id = 0;
  ProcId proc;
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("proc", m.proc);
  }
};

struct ModexOfPod {
  static constexpr std::string_view kOp = "modex_of_pod",
                                    kDoc = "To a pod: the connection data of its ranks of a namespace.";
  std::uint64_t id = 0;
  std::string space;
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("space", m.space);
  }
};

struct Reply {
  static constexpr std::string_view kOp = "reply", kDoc = "The answer to request `id`; `status` is PMIx's.";
  struct Blob {
    std::uint32_t rank = 0;
    std::string bytes;
    static void describe(auto& m, auto&& field) {
      field("rank", m.rank);
      field("bytes", binary(m.bytes));
    }
  };
  std::uint64_t id = 0;
  int status = kPmixSuccess;
  std::string blob = {};              // Collective: all pods' parts, one after the other; Modex
  std::vector<Published> found = {};  // Lookup
  std::vector<Blob> blobs = {};       // ModexOfPod
  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("status", m.status);
    field("blob", binary(m.blob));
    field("found", m.found);
    field("blobs", m.blobs);
  }
};

struct RankEvent {
  static constexpr std::string_view kOp = "event", kDoc = "To every member: an event that a rank has raised.";
  int code = 0;
  ProcId source;
  std::uint64_t infos = 0;  // packed PMIx infos
  std::string packed;
  static void describe(auto& m, auto&& field) {
    field("code", m.code);
    field("source", m.source);
    field("infos", m.infos);
    field("packed", binary(m.packed));
  }
};

// --- News of a pod, for the lead.

struct RankExited {
  static constexpr std::string_view kOp = "rank_exit", kDoc = "A rank of this pod has ended.";
  ProcId proc;
  int code = 0;                   // when signal is 0
  int signal = 0;                 // that killed it
  bool may_exit = false;          // its MPI was finalised, or it has none
  bool connected = false;         // PMIx has seen it
  std::vector<std::string> tail;  // its last words
  static void describe(auto& m, auto&& field) {
    field("proc", m.proc);
    field("code", m.code);
    field("signal", m.signal);
    field("mayExit", m.may_exit);
    field("connected", m.connected);
    field("tail", m.tail);
  }
};

// Of a master-worker program: the pod that knows so by its ranks may be the one that is lost.
struct QueueNews {
  ProcId keeper;
  std::optional<ProcId> mirror = {};
  std::string address = {};
  static void describe(auto& m, auto&& field) {
    field("keeper", m.keeper);
    field("mirror", m.mirror);
    field("address", m.address);
  }
};

// What the next lead has to know if this one is lost, and pods do not know by themselves. It goes with each
// beat of the lead as long as the job goes on without members that are lost; where it does not, no other
// leads.
struct LeadNews {
  std::int64_t next_space = 1;  // number of the next namespace
  std::int64_t resumed_at = 0;  // as in LeadState
  int resumed_times = 0;
  CheckpointNews checkpoint;
  std::optional<QueueNews> queue = {};
  static void describe(auto& m, auto&& field) {
    field("queue", m.queue);
    field("nextSpace", m.next_space);
    field("resumedAt", m.resumed_at);
    field("resumedTimes", m.resumed_times);
    field("checkpoint", m.checkpoint);
  }
};

struct Beat {
  static constexpr std::string_view
      kOp = "beat",
      kDoc = "Each second, of members to the lead and of the lead to everybody: I am there.";
  bool leave = false;                       // the pod was asked to terminate
  std::optional<int> connected = {};        // ranks that run and that PMIx has seen
  std::optional<WindowSample> sample = {};  // a measuring window that has just ended
  // All there is to know of the pod's ranks: what was said to a lead that is gone by now was said in vain.
  std::vector<ProcId> hello = {};        // those that are past MPI_Init and malleable
  std::vector<RankExited> ended = {};    // without their last words
  std::optional<RankReport> queue = {};  // of the rank that keeps the queue
  std::vector<ProcId> parked = {};       // ranks with helper threads that never came back
  std::optional<LeadNews> news = {};     // of the lead
  static void describe(auto& m, auto&& field) {
    field("leave", m.leave);
    field("connected", m.connected);
    field("sample", m.sample);
    field("hello", m.hello);
    field("ended", m.ended);
    field("queue", m.queue);
    field("parked", m.parked);
    field("news", m.news);
  }
};

struct RankReported {
  static constexpr std::string_view
      kOp = "report",
      kDoc = "Ranks of this pod report the same: times are the longest of theirs, bytes their sum.";
  RankReport report;  // `proc`: one of
  std::set<ProcId> ranks;
  static void describe(auto& m, auto&& field) {
    field("report", m.report);
    field("ranks", m.ranks);
  }
};

struct RankAborted {
  static constexpr std::string_view kOp = "abort", kDoc = "A rank of this pod has called MPI_Abort.";
  ProcId proc;
  int status = 0;
  std::string message;
  std::vector<std::string> tail;
  static void describe(auto& m, auto&& field) {
    field("proc", m.proc);
    field("status", m.status);
    field("message", m.message);
    field("tail", m.tail);
  }
};

// --- Steps of the start and of changes.

// The job as a lead knows it, for pods that join it and for the next lead. Whoever knows its pods already
// gets no list of them.
struct JobRecord {
  Fence fence;
  Epoch epoch;
  std::string lead;             // uid
  std::int64_t next_space = 1;  // number of the next namespace
  std::chrono::seconds leaver_grace = kLeaverGrace;
  ProbeMode probe = ProbeMode::All;
  std::vector<std::string> members;  // uids, in the order of world ranks; each has a node in
  std::vector<Namespace> spaces;

  // Throws std::invalid_argument when a member is in no namespace.
  Membership membership() const;
  static void describe(auto& m, auto&& field) {
    field("fence", m.fence);
    field("epoch", m.epoch);
    field("lead", m.lead);
    field("nextSpace", m.next_space);
    field("leaverGraceSeconds", m.leaver_grace);
    field("probe", m.probe);
    field("members", m.members);
    field("spaces", m.spaces);
  }
};

struct Step {
  static constexpr std::string_view kOp = "step", kDoc = "Of the lead: do this, and say when it is done.";
  StepKind kind = StepKind::Prepare;
  std::uint64_t number = 0;
  std::string change = {};                 // "": of the start
  std::optional<JobRecord> record = {};    // Prepare
  std::optional<PlannedChange> plan = {};  // Prepare of a change
  std::string space = {};                  // Launch: start your ranks of it
  std::uint64_t iteration = 0;             // Arm, Confirm
  bool joiners_precede = false;      // Arm: whoever joined by the last change has made a probe more (R2')
  std::string address = {};          // Attach: of the queue
  std::vector<ProcId> dead = {};     // Interrupt, GiveUp: joiners that are gone or will be
  std::vector<ProcId> leavers = {};  // Terminate, Kill
  std::string reason = {};           // Terminate, Kill
  std::vector<std::string> spaces = {}, pods = {};  // Forget
  static void describe(auto& m, auto&& field) {
    field("kind", m.kind);
    field("number", m.number);
    field("change", m.change);
    field("record", m.record);
    field("plan", m.plan);
    field("space", m.space);
    field("iteration", m.iteration);
    field("joinersPrecede", m.joiners_precede);
    field("address", m.address);
    field("dead", m.dead);
    field("leavers", m.leavers);
    field("reason", m.reason);
    field("spaces", m.spaces);
    field("pods", m.pods);
  }
};

struct StepDone {
  static constexpr std::string_view kOp = "step_done", kDoc = "To the lead: the step is done, or cannot be.";
  std::string change;
  std::uint64_t number = 0;
  StepAnswer answer;
  static void describe(auto& m, auto&& field) {
    field("change", m.change);
    field("number", m.number);
    field("answer", m.answer);
  }
};

// --- The lead itself.

struct HandOver {
  static constexpr std::string_view kOp = "hand_over",
                                    kDoc = "Of a lead that leaves, to the next one: all that it knows.";
  JobRecord record;
  LeadState state;
  RendezvousState rendezvous;
  std::vector<WindowSample> samples;
  RankRuns ended =
      {};  // ranks of the namespaces that do not live any more, also those of pods that have left
  static void describe(auto& m, auto&& field) {
    field("record", m.record);
    field("state", m.state);
    field("rendezvous", m.rendezvous);
    field("samples", m.samples);
    field("ended", m.ended);
  }
};

struct HandedOver {
  static constexpr std::string_view kOp = "handed_over", kDoc = "Its answer: I have it.";
  static void describe(auto&, auto&&) {}
};

struct NewLead {
  static constexpr std::string_view kOp = "lead",
                                    kDoc = "Of the lead that leaves, to every member: who leads from now on.";
  std::string uid;
  Membership membership;
  static void describe(auto& m, auto&& field) {
    field("uid", m.uid);
    field("membership", m.membership);
  }
};

struct LeadKnown {
  static constexpr std::string_view kOp = "lead_known", kDoc = "The answer: I know.";
  static void describe(auto&, auto&&) {}
};

struct PassedOn {
  static constexpr std::string_view
      kOp = "passed_on",
      kDoc = "Of the lead that leaves, to the next one: news that came to the wrong one.";
  std::string from;
  std::string message;  // encoded
  static void describe(auto& m, auto&& field) {
    field("from", m.from);
    field("message", binary(m.message));
  }
};

struct Dropped {
  static constexpr std::string_view kOp = "dropped",
                                    kDoc = "Of the lead: these ranks are lost, the job goes on without them.";
  std::string uid;  // the pod, when all of it is lost
  std::vector<ProcId> procs;
  Membership membership;
  // The members' ranks are to make a world of this name (R18); "": of a master-worker program, nobody stops.
  std::string recovery = {};
  // One of `procs` kept the queue of tasks; this rank (nspace/rank) mirrors it and keeps it from now on.
  std::string queue_to = {};
  Fence fence = {};  // the highest that the lead has heard: who was named by a lower one leads nobody
  static void describe(auto& m, auto&& field) {
    field("uid", m.uid);
    field("procs", m.procs);
    field("membership", m.membership);
    field("recovery", m.recovery);
    field("queueTo", m.queue_to);
    field("fence", m.fence);
  }
};

// A lead is lost, and a controller has named the next one (R20).
struct TakeOver {
  static constexpr std::string_view kOp = "take_over",
                                    kDoc =
                                        "Of a pod that a controller has named, to every member: I lead, "
                                        "these members are lost.";
  Fence fence;  // of the controller's word; the highest is followed
  std::vector<std::string> dead;
  std::string change = {};  // in hand; who knows another one forgets it
  std::string reason = {};
  static void describe(auto& m, auto&& field) {
    field("fence", m.fence);
    field("dead", m.dead);
    field("change", m.change);
    field("reason", m.reason);
  }
};

struct TakenOver {
  static constexpr std::string_view kOp = "taken_over", kDoc = "The answer: I follow, and know this.";
  Fence fence;
  Membership membership;
  std::vector<RankReport> reports = {};  // of the ranks here: of the change in hand, and who finalises
  static void describe(auto& m, auto&& field) {
    field("fence", m.fence);
    field("membership", m.membership);
    field("reports", m.reports);
  }
};

struct End {
  static constexpr std::string_view kOp = "end", kDoc = "Of the lead: the job is over for you, thus.";
  JobOutcome outcome;
  static void describe(auto& m, auto&& field) { field("outcome", m.outcome); }
};

using Message = std::variant<Beat, Collective, Publish, Lookup, Unpublish, Modex, ModexOfPod, Reply,
                             RankEvent, RankExited, RankReported, RankAborted, Step, StepDone, HandOver,
                             HandedOver, NewLead, LeadKnown, PassedOn, Dropped, TakeOver, TakenOver, End>;

std::string_view op_of(const Message& message);
std::string encode(const Message& message);  // CBOR
// Throws std::exception, in words, when the bytes are no message.
Message decode_message(std::string_view bytes);

}  // namespace empi
