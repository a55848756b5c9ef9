// Where foreign threads come in: PMIx upcalls and HTTP requests. They copy, post and return; HTTP waits for
// the agent's answer, bounded.
#include <future>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

constexpr auto kAnswerTime = std::chrono::seconds(5);

json binary(const std::string& bytes) {
  return json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

// Reasons and last lines hold what ranks have printed, which need not be UTF-8.
std::string text_of(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

json procs_json(const std::vector<ProcId>& procs) {
  json list = json::array();
  for (const ProcId& p : procs) list.push_back({p.nspace, p.rank});
  return list;
}

std::string blob_of(const json& reply) {
  auto at = reply.find("blob");
  if (at == reply.end()) return "";
  const auto& raw = at->get_binary();
  return {raw.begin(), raw.end()};
}

}  // namespace

void Agent::collective(std::string kind, std::vector<ProcId> procs, std::string blob, BlobReply reply) {
  reactor_.post([this, kind = std::move(kind), procs = procs_json(procs), blob = std::move(blob),
                 reply = std::move(reply)] {
    request({{"op", "collective"}, {"kind", kind}, {"procs", procs}, {"blob", binary(blob)}}, "",
            [reply](const json& r) { reply(r.at("status"), blob_of(r)); });
  });
}

void Agent::direct_modex(ProcId proc, BlobReply reply) {
  reactor_.post([this, proc = std::move(proc), reply = std::move(reply)] {
    if (auto known = modex_.find(proc); known != modex_.end()) return reply(kPmixSuccess, known->second);
    const auto owner = spaces_.owner(proc);
    if (!owner) return reply(kPmixNotFound, "");
    request({{"op", "modex"}, {"proc", {proc.nspace, proc.rank}}}, owner->uid,
            [reply](const json& r) { reply(r.at("status"), blob_of(r)); });
  });
}

void Agent::publish(std::vector<Published> data, StatusReply reply) {
  json list = json::array();
  for (const Published& p : data)
    list.push_back({p.key, p.publisher.nspace, p.publisher.rank, binary(p.value), p.first_read});
  reactor_.post([this, list = std::move(list), reply = std::move(reply)] {
    request({{"op", "publish"}, {"data", list}}, "", [reply](const json& r) { reply(r.at("status")); });
  });
}

void Agent::lookup(std::vector<std::string> keys, bool wait, int timeout_seconds, LookupReply reply) {
  reactor_.post([this, keys = std::move(keys), wait, timeout_seconds, reply = std::move(reply)] {
    request({{"op", "lookup"}, {"keys", keys}, {"wait", wait}, {"timeout", timeout_seconds}}, "",
            [reply](const json& r) {
              std::vector<Published> found;
              for (const json& p : r.value("found", json::array())) {
                const auto& raw = p.at(3).get_binary();
                found.push_back({p.at(0), {p.at(1), p.at(2)}, {raw.begin(), raw.end()}, p.at(4)});
              }
              reply(r.at("status"), std::move(found));
            });
  });
}

void Agent::unpublish(std::vector<std::string> keys, ProcId owner, StatusReply reply) {
  reactor_.post([this, keys = std::move(keys), owner = std::move(owner), reply = std::move(reply)] {
    request({{"op", "unpublish"}, {"keys", keys}, {"owner", {owner.nspace, owner.rank}}}, "",
            [reply](const json& r) { reply(r.at("status")); });
  });
}

void Agent::client_connected(ProcId proc) {
  reactor_.post([this, proc = std::move(proc)] {
    if (auto rank = ranks_.find(proc); rank != ranks_.end()) rank->second.connected = true;
  });
}

void Agent::client_finalized(ProcId proc) {
  reactor_.post([this, proc = std::move(proc)] {
    if (auto rank = ranks_.find(proc); rank != ranks_.end() && !rank->second.hello)
      rank->second.finalized = true;
  });
}

void Agent::client_said(ProcId proc, int target, std::string text, StatusReply reply) {
  output_.say(proc, target, text);
  reactor_.post(
      [reply = std::move(reply)] { reply(kPmixSuccess); });  // PMIx wants no answer before we return
}

void Agent::client_aborted(ProcId proc, int status, std::string message) {
  reactor_.post([this, proc = std::move(proc), status, message = std::move(message)] {
    output_.drain(proc, std::chrono::milliseconds(500));
    send_to_hub({{"op", "abort"},
                 {"proc", {proc.nspace, proc.rank}},
                 {"status", status},
                 {"message", message},
                 {"tail", output_.tail(proc)}});
  });
}

void Agent::event(int code, ProcId source, std::size_t infos, std::string packed) {
  reactor_.post([this, code, source = std::move(source), infos, packed = std::move(packed)] {
    on_event({{"op", "event"},
              {"code", code},
              {"source", {source.nspace, source.rank}},
              {"infos", infos},
              {"packed", binary(packed)}},
             options_.pod_uid);
  });
}

ApiAnswer Agent::ask(std::function<ApiAnswer()> question) {
  auto promise = std::make_shared<std::promise<ApiAnswer>>();
  std::future<ApiAnswer> answer = promise->get_future();
  reactor_.post([promise, question = std::move(question)] {
    try {
      promise->set_value(question());
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
  promise.reset();  // when the agent ends, dropping the task breaks the promise
  if (answer.wait_for(kAnswerTime) != std::future_status::ready)
    return refuse(503, "the agent is busy: try again");
  try {
    return answer.get();
  } catch (const std::future_error&) {
    return refuse(503, "the agent is ending");
  }
}

ApiAnswer Agent::start(const json& request) {
  return ask([this, r = request.get<StartRequest>()] { return begin_start(r); });
}

ApiAnswer Agent::put_change(const json& request) {
  return ask([this, r = request.get<ChangeRequest>()] { return begin_change(r); });
}

ApiAnswer Agent::get_changes() {
  return ask([this]() -> ApiAnswer { return {200, text_of({{"changes", known_changes()}})}; });
}

ApiAnswer Agent::cancel_change(const std::string& id) {
  return ask([this, id]() -> ApiAnswer {
    if (!is_hub() || !driver_.active() || driver_.plan().id != id)
      return refuse(404, "change '" + id + "' is not in hand here");
    driver_.cancel("cancelled by the controller", Clock::now());
    perform_steps();
    return {200, json(driver_.status()).dump()};
  });
}

ApiAnswer Agent::membership() {
  return ask([this]() -> ApiAnswer { return {200, text_of(view())}; });
}

ApiAnswer Agent::samples(std::int64_t since) {
  return ask([this, since]() -> ApiAnswer { return {200, text_of({{"windows", samples_.since(since)}})}; });
}

ApiAnswer Agent::report(std::int64_t since, Fence fence) {
  return ask([this, since, fence]() -> ApiAnswer {
    fence_ = std::max(fence_, fence);
    return {200, text_of(Report{view(), known_changes(), samples_.since(since)})};
  });
}

std::vector<ChangeStatus> Agent::known_changes() const {
  std::vector<ChangeStatus> changes(history_.begin(), history_.end());
  if (is_hub() && driver_.active()) changes.push_back(driver_.status());
  return changes;
}

ApiAnswer Agent::stop(const json& request) {
  const Fence fence{request.at("fence").get<std::int64_t>()};
  const std::string reason = request.value("reason", "stopped by the controller");
  return ask([this, fence, reason]() -> ApiAnswer {
    if (ApiAnswer a = check_controller(fence); a.status != 200) return a;
    if (started_ && !is_hub())
      return refuse(409, "pod " + options_.pod_uid + " is not the lead: ask " + hub_uid_);
    const JobOutcome outcome{"stopped", reason, 0, {}};
    std::set<std::string> told;
    for (const Member& m : membership_.members) told.insert(m.uid);
    if (driver_.active())
      for (const auto* members : {&driver_.plan().add, &driver_.plan().old.members})
        for (const Member& m : *members) told.insert(m.uid);
    for (const std::string& uid : told)
      if (uid != options_.pod_uid) send(uid, {{"op", "end"}, {"outcome", outcome}});
    reactor_.after(Millis(20), [this, outcome] { end(outcome); });  // after this answer
    return {200, json{{"ok", true}}.dump()};
  });
}

ApiAnswer Agent::batch(json batch) {
  const std::string from = batch.at("from"), to = batch.at("to");
  if (to != options_.pod_uid) return refuse(409, "this is pod " + options_.pod_uid + ", not " + to);
  if (!inbox_.accept(from, batch.at("session"), batch.at("sequence"))) return {200, "{}"};
  reactor_.post([this, from, messages = std::move(batch.at("messages"))] {
    for (const json& message : messages) receive(message, from);
  });
  return {200, "{}"};
}

}  // namespace empi::agent
