// The lead passes from a pod that leaves to another: what the old one sends, what the new one takes over.
#include <spdlog/spdlog.h>

#include <set>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {

void Agent::hand_over_to(const std::string& uid) {
  handing_over_ = driver_.status();
  json m = {{"op", "hand_over"},      {"hub", hub_.hand_over()},
            {"history", history_},    {"samples", samples_.since(-1)},
            {"record", job_record()}, {"leaveRequests", leave_requests_},
            {"ending", ending_},      {"tasks", tasks_},
            {"lost", lost_},          {"lostRanks", json::array()}};
  for (const ProcId& proc : lost_ranks_) m["lostRanks"].push_back({proc.nspace, proc.rank});
  if (queue_keeper_) {
    m["queueKeeper"] = {queue_keeper_->nspace, queue_keeper_->rank};
    m["queueAddress"] = queue_address_;
  }
  send(uid, std::move(m));
}

void Agent::on_hand_over(const json& m, const std::string& from) {
  hub_.take_over(m.at("hub"));
  history_.clear();
  for (const json& status : m.at("history")) history_.push_back(status.get<ChangeStatus>());
  for (const json& sample : m.at("samples")) samples_.add(sample.get<WindowSample>());
  for (const json& uid : m.at("leaveRequests")) leave_requests_.insert(uid.get<std::string>());
  ending_ = ending_ || m.at("ending");
  tasks_ = m.at("tasks");
  lost_ = m.at("lost");
  for (const json& p : m.at("lostRanks")) lost_ranks_.insert({p.at(0), p.at(1)});
  if (auto keeper = m.find("queueKeeper"); keeper != m.end() && !queue_keeper_) {
    queue_keeper_ = ProcId{keeper->at(0), keeper->at(1)};
    queue_address_ = m.at("queueAddress");
    driver_.queue_is_at(queue_address_, Clock::now());
  }
  adopt_record(m.at("record"));
  for (const ProcId& proc : ranks_of(membership_.members))
    hello_.insert(proc);  // all took part in the change
  send(from, {{"op", "handed_over"}});
}

// The new lead has everything: tell the members, and stay until all know. What they send us meanwhile is
// passed on.
void Agent::on_handed_over(const json&, const std::string& from) {
  if (!handing_over_) return;
  for (const Member& member : membership_.members) {
    not_told_.insert(member.uid);
    send(member.uid, {{"op", "hub"}, {"uid", from}, {"membership", membership_}});
  }
  spdlog::info("handed the lead over to pod {}", from);
  reactor_.after(Millis(5000), [this] { leave_as_former_lead(); });
}

void Agent::on_hub_known(const json&, const std::string& from) {
  if (handing_over_ && not_told_.erase(from) && not_told_.empty()) leave_as_former_lead();
}

void Agent::leave_as_former_lead() {
  if (!over_) end({"stopped", "released by change " + handing_over_->request.id, 0, {}});
}

// False when the message was meant for the lead that we are no more. Requests are sent again to the new one
// by those who wait for an answer.
bool Agent::still_ours(const json& message, const std::string& from) {
  static const std::set<std::string> requests = {"collective", "publish", "lookup", "unpublish"};
  static const std::set<std::string> news = {"beat", "rank_exit", "report", "abort"};
  if (!handing_over_) return true;
  const std::string op = message.value("op", "");
  if (news.contains(op))
    send(membership_.lead().uid, {{"op", "passed_on"}, {"from", from}, {"message", message}});
  return !news.contains(op) && !requests.contains(op);
}

void Agent::on_passed_on(const json& m, const std::string&) { receive(m.at("message"), m.at("from")); }

}  // namespace empi::agent
