// SPDX-License-Identifier: Apache-2.0
// Messages between pods (runtime/protocol/agent_messages.hpp): who gets them, and what a pod does about
// them.
#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "runtime/agent/pod/pod.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

void Pod::receive(const Message& message, const std::string& from) {
  if (over_ || deposed_.contains(from)) return;
  try {
    heard(from);
    if (lead_ && lead_->on(message, from, edges_.moment())) return follow_lead();
    std::visit(
        [&](const auto& m) {
          if constexpr (requires { on_message(m, from); }) on_message(m, from);
        },
        message);
  } catch (const std::exception& error) {  // whatever a peer sends, it does not end us
    log::warn("cannot act on message '{}' from {}: {}", op_of(message), from, error.what());
  }
}

void Pod::heard(const std::string& from) {
  if (from == lead_uid_) lead_heard_ = edges_.moment().running;
  if (!over_ && lead_) lead_->heard(from, edges_.moment());
}

void Pod::send(const std::string& uid, const Message& message) {
  if (uid == self_.uid)
    edges_.post([this, message] { receive(message, self_.uid); });
  else if (reaches(uid))
    edges_.send({uid}, message);
}

void Pod::send_all(const std::vector<std::string>& uids, const Message& message) {
  std::vector<std::string> others;
  for (const std::string& uid : uids)
    if (uid == self_.uid)
      edges_.post([this, message] { receive(message, self_.uid); });
    else if (reaches(uid))
      others.push_back(uid);
  if (!others.empty()) edges_.send(others, message);
}

bool Pod::reaches(const std::string& uid) {
  if (edges_.knows(uid)) return true;
  if (deposed_.contains(uid)) return false;
  // A member that we could not reach for a while, and the lead could: it waits for this.
  const Member* member = is_lead() ? nullptr : membership_.find(uid);
  if (member) edges_.admit(uid, member->address);
  return member != nullptr;
}

// What ranks have reported before comes before it.
void Pod::send_to_lead(const Message& message) {
  for (const RankReported& report : reports_.take_all()) send(lead_uid_, report);
  send(lead_uid_, message);
}

void Pod::send_request(const Message& message, const std::string& to) {
  send(to.empty() ? lead_uid_ : to, message);
  const bool reachable = to.empty() || to == self_.uid || edges_.knows(to);
  if (!reachable) edges_.post([this, to] { requests_.fail(to, kPmixError); });
}

void Pod::connection_data(const ProcId& proc, const PodEdges::Blob& reply) {
  if (auto known = connection_data_.find(proc); known != connection_data_.end())
    return reply(kPmixSuccess, known->second);
  const auto owner = spaces_.owner(proc);
  if (!owner) return reply(kPmixNotFound, "");
  request(Modex{0, proc}, owner->uid, [reply](const Reply& r) { reply(r.status, r.blob); });
}

// Requests to that pod alone will not be answered.
void Pod::drop(const std::string& uid) {
  edges_.drop(uid);
  requests_.fail(uid, kPmixError);
}

// The pod is out of the job. Once it has been told, or is silent, it is a stranger: if it was only cut off,
// it learns so at its next message.
void Pod::dismiss(const std::string& uid) {
  edges_.dismiss(uid);
  requests_.fail(uid, kPmixError);
}

void Pod::unreachable(const std::string& uid, Standing standing, bool reached, const std::string& why) {
  if (over_ || !edges_.knows(uid)) return;
  // A newcomer may not listen yet: only the deadline decides. A stranger never will.
  const bool newcomer = is_lead() && lead_->is_newcomer(uid);
  if (newcomer && !reached && standing != Standing::Stranger) return;
  // A lead that was cut off, and that others have gone on without.
  if (standing == Standing::Dismissed && is_lead() && is_ours(uid))
    return end({JobResult::Failed, "this pod leads the job no more: " + why, 1, {}, {}});
  if (standing != Standing::Dismissed && waits_for_word(uid)) return;
  pod_lost(uid, "its agent cannot be reached (" + why + ")");
}

void Pod::reached(const std::string& uid) {
  if (!over_ && lead_) lead_->reached(uid);
}

void Pod::pod_lost(const std::string& uid, const std::string& why) {
  if (is_lead()) {
    lead_->pod_silent(uid, why, edges_.moment());
    return follow_lead();
  }
  drop(uid);  // the lead finds out by itself
  if (uid == lead_uid_) end({JobResult::Failed, "lost the lead (pod " + uid + "): " + why, 1, {}, {}});
}

void Pod::on_message(const Reply& m, const std::string&) { requests_.answered(m); }

void Pod::on_message(const Modex& m, const std::string& from) {
  edges_.connection_data(m.proc, [this, id = m.id, from](int status, const std::string& blob) {
    send(from, Reply{.id = id, .status = status, .blob = blob});
  });
}

// The data of all our ranks of a namespace, in one reply once all have put theirs.
void Pod::on_message(const ModexOfPod& m, const std::string& from) {
  struct Gathered {
    Reply reply;
    std::size_t missing = 0;
  };
  std::vector<ProcId> procs;
  for (const ProcId& proc : ranks_.running())
    if (proc.nspace == m.space) procs.push_back(proc);
  if (procs.empty()) return send(from, Reply{.id = m.id, .status = kPmixNotFound});
  auto gathered = std::make_shared<Gathered>(Reply{.id = m.id}, procs.size());
  for (const ProcId& proc : procs)
    edges_.connection_data(proc, [this, gathered, proc, from](int status, const std::string& blob) {
      gathered->reply.blobs.push_back({proc.rank, blob});
      if (status != kPmixSuccess) gathered->reply.status = status;
      if (--gathered->missing == 0) send(from, gathered->reply);
    });
}

// Events of a rank go to all other pods; there the local PMIx server tells its ranks.
void Pod::on_message(const RankEvent& m, const std::string& from) {
  if (from != self_.uid) return edges_.notify(m);
  std::vector<std::string> others;
  for (const Member& member : membership_.members)
    if (member.uid != self_.uid) others.push_back(member.uid);
  send_all(others, m);
}

void Pod::on_message(const NewLead& m, const std::string& from) {
  // Late news: of a lead that has handed over since, or dropped a member, or was lost, and another one named:
  // that tells us itself.
  if (m.membership.epoch < membership_.epoch || deposed_.contains(m.uid)) return send(from, LeadKnown{});
  const Membership former = std::exchange(membership_, m.membership);
  follow(m.uid);
  for (const Member& member : former.members)  // the lead before it has said in vain, perhaps, that they go
    if (!membership_.find(member.uid) && member.uid != from) requests_.fail(member.uid, kPmixError);
  send(from, LeadKnown{});
  if (!membership_.find(from)) edges_.part(from);  // it leaves once all have said so
  if (!is_lead()) return;
  reach_all();
  lead_->begin_to_lead(edges_.moment());
  follow_lead();
}

// The lead before tells who leads, and so does the new one. What we wait for is asked again once: the new
// lead may have answered it when we hear the second of them.
void Pod::follow(const std::string& lead) {
  if (lead_uid_ == lead) return;
  lead_uid_ = lead;
  lead_heard_ = edges_.moment().running;
  told_connected_ = -1;  // it has not heard
  // Others may not have been answered what we were, if the lead before is lost; and what we still wait for.
  for (const Collective& answer : requests_.answered_collectives()) send_to_lead(answer);
  for (const Published& word : requests_.worlds()) send_to_lead(Publish{0, {word}});
  for (const Message& request : requests_.of_lead()) send_to_lead(request);
}

void Pod::on_message(const HandOver& m, const std::string& from) {
  if (lead_) return log::warn("{} hands the lead over to us, who have it", from);
  make_lead();
  lead_->take_over(m, edges_.moment());
  lead_->raise_fence(fence_);
  adopt(m.record);
  send(from, HandedOver{});
}

void Pod::on_message(const PassedOn& m, const std::string&) { receive(decode_message(m.message), m.from); }

void Pod::on_message(const Dropped& m, const std::string&) {
  if (m.membership.epoch >= membership_.epoch) membership_ = m.membership;
  if (!is_lead()) {
    followed_fence_ = std::max(followed_fence_, m.fence);
    fence_ = std::max(fence_, m.fence);
  }
  // The lead still has to tell it; and one that drops itself still has to hand over.
  if (!is_lead() && !m.uid.empty() && m.uid != lead_uid_) drop(m.uid);
  // Its connections, MPI's and that to the queue, may not say so: the machine may be gone.
  RankOrder order;
  order.kind = RankOrder::Kind::Lost;
  order.procs = m.procs;
  order.port = m.queue_to;
  for (const ProcId& proc : order.procs) edges_.notify_dead(proc);
  order_all(order);
  if (m.recovery.empty()) return;
  RankOrder recover;
  recover.kind = RankOrder::Kind::Recover;
  recover.port = m.recovery;
  recover.procs = ranks_of(m.membership.members);
  order_all(recover);
}

void Pod::on_message(const End& m, const std::string&) { end(m.outcome); }

}  // namespace empi::agent
