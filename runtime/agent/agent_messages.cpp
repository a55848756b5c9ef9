// SPDX-License-Identifier: Apache-2.0
// Messages between agents (runtime/protocol/agent_messages.hpp): who gets them, and what a pod does about
// them.
#include <algorithm>

#include "runtime/agent/agent.hpp"
#include "runtime/agent/pod/fetch.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {

void Agent::receive(const Message& message, const std::string& from) {
  if (over_) return;
  try {
    if (lead_) {
      lead_->heard(from, moment());
      if (lead_->on(message, from, moment())) return follow_lead();
    }
    std::visit(
        [&](const auto& m) {
          if constexpr (requires { on_message(m, from); }) on_message(m, from);
        },
        message);
  } catch (const std::exception& error) {  // whatever a peer sends, it does not end us
    log::warn("cannot act on message '{}' from {}: {}", op_of(message), from, error.what());
  }
}

void Agent::send(const std::string& uid, const Message& message) { send_all({uid}, message); }

void Agent::send_all(const std::vector<std::string>& uids, const Message& message) {
  std::optional<MessageBytes> bytes;
  for (const std::string& uid : uids) {
    if (uid == options_.pod_uid) {
      reactor_.post([this, message] { receive(message, options_.pod_uid); });
      continue;
    }
    if (!bytes) bytes = encode(message);
    deliver(uid, *bytes);
  }
}

void Agent::deliver(const std::string& uid, const MessageBytes& message) {
  if (peers_->send(uid, message) || is_lead()) return;
  // A member that we could not reach for a while, and the lead could: it waits for this.
  const Member* member = membership_.find(uid);
  if (!member) return;
  add_peer(uid, member->address);
  peers_->send(uid, message);
}

// What ranks have reported before comes before it.
void Agent::send_to_lead(const Message& message) {
  for (const RankReported& report : reports_.take_all()) send(lead_uid_, report);
  send(lead_uid_, message);
}

void Agent::send_request(const Message& message, const std::string& to) {
  send(to.empty() ? lead_uid_ : to, message);
  const bool reachable = to.empty() || to == options_.pod_uid || peers_->knows(to);
  if (!reachable) reactor_.post([this, to] { requests_.fail(to, kPmixError); });
}

void Agent::on_message(const Reply& m, const std::string&) { requests_.answered(m); }

void Agent::on_message(const Modex& m, const std::string& from) {
  pmix_->modex_of_local(m.proc, [this, id = m.id, from](int status, std::string blob) {
    reactor_.post([this, id, from, status, blob = std::move(blob)] {
      send(from, Reply{.id = id, .status = status, .blob = blob});
    });
  });
}

// The data of all our ranks of a namespace, in one reply once all have put theirs.
void Agent::on_message(const ModexOfPod& m, const std::string& from) {
  struct Gathered {
    Reply reply;
    std::size_t missing = 0;
  };
  std::vector<ProcId> procs;
  for (const ProcId& proc : local_ranks())
    if (proc.nspace == m.space) procs.push_back(proc);
  if (procs.empty()) return send(from, Reply{.id = m.id, .status = kPmixNotFound});
  auto gathered = std::make_shared<Gathered>(Reply{.id = m.id}, procs.size());
  for (const ProcId& proc : procs)
    pmix_->modex_of_local(proc, [this, gathered, proc, from](int status, std::string blob) {
      reactor_.post([this, gathered, proc, from, status, blob = std::move(blob)] {
        gathered->reply.blobs.push_back({proc.rank, blob});
        if (status != kPmixSuccess) gathered->reply.status = status;
        if (--gathered->missing == 0) send(from, gathered->reply);
      });
    });
}

// Before the building starts every agent has the modex data of the other side: if a joiner dies in the
// middle, nobody is left asking for data that cannot be had (Open MPI crashes on that), and accept is
// quicker.
void Agent::fetch_modex(std::function<void(const std::string& error)> done) {
  const bool joining = plan_->joins(options_.pod_uid);
  const std::vector<Member>& ours = joining ? plan_->add : plan_->old.members;
  const auto self = std::ranges::find(ours, options_.pod_uid, &Member::uid);
  const auto ask = [this](const Member& other, const Fetch::Answered& answered) {
    request(ModexOfPod{0, other.nspace}, other.uid, [this, other, answered](const Reply& r) {
      for (const Reply::Blob& blob : r.blobs)
        if (spaces_.find(other.nspace)) modex_[{other.nspace, blob.rank}] = blob.bytes;
      answered(r.status == kPmixSuccess ? "" : "no connection data from pod " + other.name);
    });
  };
  Fetch::begin(joining ? plan_->old.members : plan_->add,
               static_cast<std::size_t>(std::distance(ours.begin(), self)), ask, std::move(done));
}

// Events of a rank go to all other pods; there the local PMIx server tells its ranks.
void Agent::on_message(const RankEvent& m, const std::string& from) {
  if (from == options_.pod_uid) {
    std::vector<std::string> others;
    for (const Member& member : membership_.members)
      if (member.uid != options_.pod_uid) others.push_back(member.uid);
    send_all(others, m);
  } else {
    pmix_->notify(m.code, m.source, m.infos, m.packed);
  }
}

void Agent::on_message(const NewLead& m, const std::string& from) {
  // Late news of a lead that has handed over since, or dropped a member: it tells us itself.
  if (m.membership.epoch < membership_.epoch) return send(from, LeadKnown{});
  lead_uid_ = m.uid;
  told_connected_ = -1;  // it has not heard
  membership_ = m.membership;
  for (const Message& request : requests_.of_lead()) send_to_lead(request);
  send(from, LeadKnown{});
  if (!membership_.find(from)) peers_->part(from);  // it leaves once all have said so
  if (!is_lead()) return;
  lead_->begin_to_lead(moment());
  follow_lead();
}

void Agent::on_message(const HandOver& m, const std::string& from) {
  if (lead_) return log::warn("{} hands the lead over to us, who have it", from);
  make_lead();
  lead_->take_over(m, moment());
  lead_->raise_fence(fence_);
  adopt_record(m.record);
  send(from, HandedOver{});
}

void Agent::on_message(const PassedOn& m, const std::string&) { receive(decode_message(m.message), m.from); }

void Agent::on_message(const Dropped& m, const std::string&) {
  if (m.membership.epoch >= membership_.epoch) membership_ = m.membership;
  if (!is_lead() && !m.uid.empty()) drop_peer(m.uid);  // the lead still has to tell it
  // Its connections, MPI's and that to the queue, may not say so: the machine may be gone.
  RankOrder order;
  order.kind = RankOrder::Kind::Lost;
  order.procs = m.procs;
  for (const ProcId& proc : order.procs) pmix_->notify_dead(proc);
  order_all(order);
}

void Agent::on_message(const End& m, const std::string&) { end(m.outcome); }

void Agent::on_delivery_failure(const DeliveryFailure& failure) {
  if (over_ || !peers_->knows(failure.uid)) return;
  // A newcomer may not listen yet: only the deadline decides. A stranger never will.
  const bool newcomer = is_lead() && lead_->is_newcomer(failure.uid);
  if (newcomer && !failure.reached && failure.standing != Standing::Stranger) return;
  pod_lost(failure.uid, "its agent cannot be reached (" + failure.what + ")");
}

void Agent::add_peer(const std::string& uid, const std::string& address) {
  peers_->add(uid, address);  // first: a farewell to a pod of this uid is over then
  std::lock_guard lock(inbox_mutex_);
  inbox_.admit(uid);
}

// Requests to that pod alone will not be answered.
void Agent::drop_peer(const std::string& uid) {
  peers_->drop(uid);
  {
    std::lock_guard lock(inbox_mutex_);
    inbox_.retire(uid);
  }
  requests_.fail(uid, kPmixError);
}

// The pod is out of the job. Once it has been told, or is silent, it is a stranger: if it was only cut off,
// it learns so at its next message.
void Agent::dismiss_peer(const std::string& uid) {
  const auto refuse_it = [this, uid] {
    std::lock_guard lock(inbox_mutex_);
    inbox_.dismiss(uid);
  };
  if (peers_->knows(uid))
    peers_->part(uid, refuse_it);
  else
    refuse_it();
  requests_.fail(uid, kPmixError);
}

void Agent::pod_lost(const std::string& uid, const std::string& why) {
  if (over_) return;
  if (is_lead()) {
    lead_->pod_lost(uid, why, moment());
    return follow_lead();
  }
  drop_peer(uid);  // the lead finds out by itself
  if (uid == lead_uid_) end({JobResult::Failed, "lost the lead (pod " + uid + "): " + why, 1, {}, {}});
}

}  // namespace empi::agent
