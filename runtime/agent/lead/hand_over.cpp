// SPDX-License-Identifier: Apache-2.0
// The lead passes from a pod that leaves to another.
#include <chrono>
#include <string>
#include <type_traits>

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

void Lead::hand_over_to(const std::string& uid) {
  if (!handing_over_) handing_over_ = driver_.status();
  successor_ = uid;
  asked_at_.reset();
  LeadState state = state_;
  if (put_back(OldFault::B9)) {
    state.exit_codes.clear();
    state.first_failure = {};
  }
  send(uid, HandOver{whole_record(), std::move(state), rendezvous_.hand_over(), samples_.since(-1),
                     spaces_.ended()});
}

void Lead::take_over(const HandOver& m, Moment now) {
  leads_ = false;
  fence_ = m.record.fence;
  membership_ = m.record.membership();
  next_space_ = m.record.next_space;
  leaver_grace_ = m.record.leaver_grace;
  probe_ = m.record.probe;
  for (const Namespace& space : m.record.spaces) spaces_.add(space);
  state_ = m.state;
  spaces_.take_over_ended(m.ended);
  for (const ProcId& proc : ranks_of(membership_.members))
    state_.hello.insert(proc);  // all took part in the change
  rendezvous_.take_over(m.rendezvous);
  samples_.take_over(m.samples, now.window);
  if (state_.queue_keeper) driver_.queue_is_at(state_.queue_address, now.clock);
}

// The lead before us tells, too, and may be gone before all have heard.
void Lead::begin_to_lead(Moment now) {
  leads_ = true;
  if (held_back_) return conclude(std::move(*held_back_));
  for (const std::string& uid : others()) last_heard_[uid] = now.running;
  send_all(others(), NewLead{self_.uid, membership_});
  drop_lost_members();
  succeed_when_all_done();
}

// One that is not silent and does not take over, either: it could not read what it was handed, say.
void Lead::bound_hand_over(Moment now) {
  if (!handing_over_ || handed_over_ || verdict_) return;
  if (!asked_at_) asked_at_ = now.running;
  const auto waited = now.running - *asked_at_;
  if (waited <= kWaitsForWord * self_.partition) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  pod_lost(successor_, "it has not taken the lead over for " + std::to_string(seconds) + " s", now);
}

// The new lead has everything: tell the members, and stay until all know. What they send us meanwhile is
// passed on.
void Lead::on_message(const HandedOver&, const std::string& from, Moment) {
  if (!handing_over_ || handed_over_ || from != successor_) return;
  for (const Member& member : membership_.members) not_told_.insert(member.uid);
  send_all({not_told_.begin(), not_told_.end()}, NewLead{from, membership_});
  log::info("handed the lead over to pod {}", from);
  handed_over_ = true;
}

// Until the next lead knows that it leads, nobody does: that it hears so may take as long as silence is
// borne.
void Lead::on_message(const LeadKnown&, const std::string& from, Moment now) {
  if (!handed_over_ || !not_told_.erase(from)) return;
  if (from == successor_) leaves_at_ = now.clock + kFormerLeadStays;
  if (not_told_.empty()) leave_as_former_lead();
}

// It is the next lead's to judge by now. That may lead all the same when we do not hear it; if it is gone,
// its members find out.
void Lead::lost_as_former_lead(const std::string& uid) {
  not_told_.erase(uid);
  if (uid == successor_ || not_told_.empty()) leave_as_former_lead();
}

// A rank of the lead's own pod is lost, and the pod with it: another leads.
void Lead::hand_over_for_a_loss(const std::string& what, const std::vector<std::string>& tail) {
  leaves_as_ = JobOutcome{JobResult::Failed, what, 1, tail, {}};
  drop_member(self_.uid, what, tail);
  if (!verdict_) hand_over_to(membership_.lead().uid);
}

void Lead::leave_as_former_lead() {
  if (!verdict_ && leaves_as_) verdict_ = leaves_as_;
  if (!verdict_)
    verdict_ = {JobResult::Stopped, "released by change " + handing_over_->request.id, 0, {}, {}};
}

// False when the message was meant for the lead that we are no more. Requests are sent again to the new one
// by those who wait for an answer.
bool Lead::still_ours(const Message& message, const std::string& from) {
  if (!handing_over_ && !answers_no_more_) return true;
  return std::visit(
      [&]<class M>(const M&) {
        const bool news = std::is_same_v<M, Beat> || std::is_same_v<M, RankExited> ||
                          std::is_same_v<M, RankReported> || std::is_same_v<M, RankAborted>;
        const bool request = std::is_same_v<M, Collective> || std::is_same_v<M, Publish> ||
                             std::is_same_v<M, Lookup> || std::is_same_v<M, Unpublish>;
        if (!handing_over_) return !request;
        if (news) send(membership_.lead().uid, PassedOn{from, encode(message)});
        return !news && !request;
      },
      message);
}

}  // namespace empi::agent
