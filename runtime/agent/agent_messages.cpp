// Messages between agents: {"op": ..., ...}. Requests carry "id" and are answered by "reply".
#include <spdlog/spdlog.h>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

constexpr int kRefusalsBeforeLost = 3;  // connections refused in a row

json binary(const std::string& bytes) {
  return json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

std::string bytes_of(const json& j, const char* key) {
  auto at = j.find(key);
  if (at == j.end() || !at->is_binary()) return "";
  const auto& raw = at->get_binary();
  return {raw.begin(), raw.end()};
}

ProcId proc_of(const json& j) { return {j.at(0).get<std::string>(), j.at(1).get<std::uint32_t>()}; }

json published_json(const std::vector<Published>& data) {
  json list = json::array();
  for (const Published& p : data)
    list.push_back({p.key, p.publisher.nspace, p.publisher.rank, binary(p.value), p.first_read});
  return list;
}

}  // namespace

const std::map<std::string, Agent::MessageHandler>& Agent::message_handlers() {
  static const std::map<std::string, MessageHandler> handlers = {
      {"collective", &Agent::on_collective},
      {"publish", &Agent::on_publish},
      {"lookup", &Agent::on_lookup},
      {"unpublish", &Agent::on_unpublish},
      {"modex", &Agent::on_modex},
      {"modex_of_pod", &Agent::on_modex_of_pod},
      {"reply", &Agent::on_reply},
      {"event", &Agent::on_event},
      {"beat", &Agent::on_beat},
      {"rank_exit", &Agent::on_remote_exit},
      {"report", &Agent::on_remote_report},
      {"abort", &Agent::on_abort},
      {"step", &Agent::on_step},
      {"step_done", &Agent::on_step_done},
      {"hub", &Agent::on_hub},
      {"hand_over", &Agent::on_hand_over},
      {"handed_over", &Agent::on_handed_over},
      {"hub_known", &Agent::on_hub_known},
      {"passed_on", &Agent::on_passed_on},
      {"end", &Agent::on_end},
      {"dropped", &Agent::on_dropped},
  };
  return handlers;
}

void Agent::receive(const json& message, const std::string& from) {
  if (over_) return;
  const std::string op = message.value("op", "");
  auto handler = message_handlers().find(op);
  if (handler == message_handlers().end()) return spdlog::warn("unknown message '{}' from {}", op, from);
  if (auto heard = last_heard_.find(from); heard != last_heard_.end()) heard->second = Clock::now();
  if (!still_ours(message, from)) return;
  try {
    (this->*handler->second)(message, from);
  } catch (const json::exception& error) {
    spdlog::warn("malformed message '{}' from {}: {}", op, from, error.what());
  }
}

void Agent::send(const std::string& uid, json message) {
  if (uid == options_.pod_uid) {
    reactor_.post([this, message = std::move(message)] { receive(message, options_.pod_uid); });
  } else {
    peers_->send(uid, message);
  }
}

void Agent::request(json message, std::string to, std::function<void(const json&)> done) {
  const std::uint64_t id = next_request_++;
  message["id"] = id;
  const std::string receiver = to.empty() ? hub_uid_ : to;
  pending_[id] = {message, std::move(to), std::move(done)};
  send(receiver, std::move(message));
}

void Agent::on_reply(const json& m, const std::string&) {
  auto at = pending_.find(m.at("id").get<std::uint64_t>());
  if (at == pending_.end()) return;  // answered already by another hub
  const Pending request = std::move(at->second);
  pending_.erase(at);
  request.done(m);
}

void Agent::deliver(const HubReplies& replies) {
  for (const HubReply& reply : replies) {
    json m = {{"op", "reply"}, {"id", reply.to.id}, {"status", reply.status}};
    if (!reply.blob.empty()) m["blob"] = binary(reply.blob);
    if (!reply.found.empty()) m["found"] = published_json(reply.found);
    send(reply.to.uid, std::move(m));
  }
}

void Agent::on_collective(const json& m, const std::string& from) {
  std::vector<ProcId> procs;
  for (const json& p : m.at("procs")) procs.push_back(proc_of(p));
  deliver(hub_.contribute(m.at("kind"), std::move(procs), {from, m.at("id")}, bytes_of(m, "blob")));
}

void Agent::on_publish(const json& m, const std::string& from) {
  std::vector<Published> data;
  for (const json& p : m.at("data")) {
    const auto& raw = p.at(3).get_binary();
    data.push_back({p.at(0), {p.at(1), p.at(2)}, {raw.begin(), raw.end()}, p.at(4)});
  }
  deliver(hub_.publish(data, {from, m.at("id")}));
}

void Agent::on_lookup(const json& m, const std::string& from) {
  const int timeout = m.value("timeout", 0);
  const TimePoint until = timeout > 0 ? Clock::now() + std::chrono::seconds(timeout) : TimePoint::max();
  deliver(hub_.lookup(m.at("keys"), m.at("wait"), until, {from, m.at("id")}));
}

void Agent::on_unpublish(const json& m, const std::string& from) {
  deliver(hub_.unpublish(m.at("keys"), proc_of(m.at("owner")), {from, m.at("id")}));
}

void Agent::on_modex(const json& m, const std::string& from) {
  const std::uint64_t id = m.at("id");
  pmix_->modex_of_local(proc_of(m.at("proc")), [this, id, from](int status, std::string blob) {
    reactor_.post([this, id, from, status, blob = std::move(blob)] {
      send(from, {{"op", "reply"}, {"id", id}, {"status", status}, {"blob", binary(blob)}});
    });
  });
}

// The data of all our ranks of a namespace, in one reply once all have put theirs.
void Agent::on_modex_of_pod(const json& m, const std::string& from) {
  struct Gathered {
    json blobs = json::array();
    std::size_t missing = 0;
    int status = kPmixSuccess;
  };
  const std::uint64_t id = m.at("id");
  const std::string space = m.at("space");
  std::vector<ProcId> procs;
  for (const ProcId& proc : local_ranks())
    if (proc.nspace == space) procs.push_back(proc);
  auto gathered = std::make_shared<Gathered>();
  gathered->missing = procs.size();
  if (procs.empty()) return send(from, {{"op", "reply"}, {"id", id}, {"status", kPmixNotFound}});
  for (const ProcId& proc : procs)
    pmix_->modex_of_local(proc, [this, gathered, proc, id, from](int status, std::string blob) {
      reactor_.post([this, gathered, proc, id, from, status, blob = std::move(blob)] {
        gathered->blobs.push_back({proc.rank, binary(blob)});
        if (status != kPmixSuccess) gathered->status = status;
        if (--gathered->missing == 0)
          send(from, {{"op", "reply"}, {"id", id}, {"status", gathered->status}, {"blobs", gathered->blobs}});
      });
    });
}

// Before the building starts every agent has the modex data of the other side: if a joiner dies in the
// middle, nobody is left asking for data that cannot be had (Open MPI crashes on that), and accept is
// quicker.
void Agent::fetch_modex(std::function<void(const std::string& error)> done) {
  struct Open {
    std::size_t missing = 0;
    std::string error;
  };
  auto open = std::make_shared<Open>();
  const std::vector<Member> others = plan_->joins(options_.pod_uid) ? plan_->old.members : plan_->add;
  open->missing = others.size();
  if (others.empty()) return done("");
  for (const Member& other : others)
    request({{"op", "modex_of_pod"}, {"space", other.nspace}}, other.uid,
            [this, open, other, done](const json& r) {
              if (r.at("status") != kPmixSuccess) open->error = "no connection data from pod " + other.name;
              for (const json& entry : r.value("blobs", json::array())) {
                const auto& raw = entry.at(1).get_binary();
                if (spaces_.find(other.nspace))
                  modex_[{other.nspace, entry.at(0)}] = std::string(raw.begin(), raw.end());
              }
              if (--open->missing == 0) done(open->error);
            });
}

// Events of a rank go to all other pods; there the local PMIx server tells its ranks.
void Agent::on_event(const json& m, const std::string& from) {
  if (from == options_.pod_uid) {
    for (const Member& member : membership_.members)
      if (member.uid != options_.pod_uid) send(member.uid, m);
  } else {
    pmix_->notify(m.at("code"), proc_of(m.at("source")), m.at("infos"), bytes_of(m, "packed"));
  }
}

void Agent::on_beat(const json& m, const std::string& from) {
  // A leaver's last beat may come after the change that it left by.
  if (m.value("leave", false) && membership_.find(from)) leave_requests_.insert(from);
  if (auto sample = m.find("sample"); sample != m.end()) samples_.add(sample->get<WindowSample>());
}

void Agent::on_remote_exit(const json& m, const std::string& from) {
  rank_gone(proc_of(m.at("proc")), from, {proc_of(m.at("proc")), m.at("code"), m.at("signal")},
            m.at("may_exit"), m.at("tail"));
}

void Agent::on_abort(const json& m, const std::string& from) {
  if (tasks_ && !membership_.find(from) && !driver_.is_union_member(from)) return;  // dropped already
  const std::string text = m.value("message", "");
  const std::string what =
      describe(proc_of(m.at("proc"))) + " called MPI_Abort" + (text.empty() ? "" : ": " + text);
  const int status = m.at("status");
  const auto tail = from == options_.pod_uid ? output_.tail(proc_of(m.at("proc")))
                                             : m.value("tail", std::vector<std::string>{});
  const auto act = [this, proc = proc_of(m.at("proc")), what, status, tail] {
    rank_aborted(proc, what, status, tail);
  };
  if (status != names::kMpiErrProcFailed && status != names::kMpiErrRevoked) return act();
  // MPI aborts because another rank has died: the news of that one, the cause, is under way.
  reactor_.after(kPatienceForCause, act);
}

void Agent::on_hub(const json& m, const std::string& from) {
  hub_uid_ = m.at("uid");
  // The new lead may have dropped a member already.
  if (auto told = m.at("membership").get<Membership>(); told.epoch >= membership_.epoch)
    membership_ = std::move(told);
  last_heard_.clear();
  if (is_hub())
    for (const Member& member : membership_.members)
      if (member.uid != options_.pod_uid) last_heard_[member.uid] = Clock::now();
  for (const auto& [id, pending] : pending_)
    if (pending.to.empty()) send_to_hub(pending.message);
  send(from, {{"op", "hub_known"}});
  if (is_hub()) drop_lost_members();
  succeed_when_all_done();
}

void Agent::on_end(const json& m, const std::string&) { end(m.at("outcome").get<JobOutcome>()); }

void Agent::on_delivery_failure(const DeliveryFailure& failure) {
  if (over_ || !peers_->knows(failure.uid)) return;
  const bool given_up = failure.stranger || failure.silent_s > options_.partition_seconds ||
                        (failure.refused && failure.refusals >= kRefusalsBeforeLost);
  if (!given_up) return;
  // A newcomer may not listen yet: only the deadline decides. A stranger never will.
  const bool newcomer = is_hub() && driver_.active() && driver_.plan().joins(failure.uid);
  if (newcomer && !failure.had_success && !failure.stranger) return;
  pod_lost(failure.uid, "its agent cannot be reached (" + failure.what + ")");
}

void Agent::pod_lost(const std::string& uid, const std::string& why) {
  if (over_) return;
  peers_->drop(uid);
  last_heard_.erase(uid);
  for (auto at = pending_.begin();
       at != pending_.end();) {  // requests to that pod alone will not be answered
    if (at->second.to != uid) {
      ++at;
      continue;
    }
    const Pending request = std::move(at->second);
    at = pending_.erase(at);
    request.done({{"status", kPmixError}});
  }
  if (uid == hub_uid_) return end({"failed", "lost the lead (pod " + uid + "): " + why, 1, {}});
  if (!is_hub()) return;  // the lead finds out by itself
  const bool in_change = driver_.is_union_member(uid);
  const Member* member = membership_.find(uid);
  const std::string what = "pod " + (member ? member->name : uid) + " is lost: " + why;
  if (in_change) driver_.pod_lost(uid, what, Clock::now());
  spaces_.pod_gone(uid);
  deliver(hub_.recheck());
  if (member && !survives_loss_of_pod(uid)) {
    if (!in_change || tasks_) fail_job(what, 1, {});
  } else if (member && !in_change) {
    drop_member(uid, what, {});
  }
  perform_steps();
}

}  // namespace empi::agent
