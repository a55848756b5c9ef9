// SPDX-License-Identifier: Apache-2.0
// Where foreign threads come in: PMIx upcalls and HTTP requests. They copy, post and return; HTTP waits for
// the agent's answer, bounded.
#include <future>

#include "runtime/agent/agent.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/integers.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

constexpr auto kAnswerTime = std::chrono::seconds(5);

}  // namespace

void Agent::collective(std::string kind, std::vector<ProcId> procs, std::string blob, BlobReply reply) {
  reactor_.post([this, kind = std::move(kind), procs = RankRuns(procs), blob = std::move(blob),
                 reply = std::move(reply)] {
    request(Collective{0, kind, procs, blob}, "", [reply](const Reply& r) { reply(r.status, r.blob); });
  });
}

void Agent::direct_modex(ProcId proc, BlobReply reply) {
  reactor_.post([this, proc = std::move(proc), reply = std::move(reply)] {
    if (auto known = modex_.find(proc); known != modex_.end()) return reply(kPmixSuccess, known->second);
    const auto owner = spaces_.owner(proc);
    if (!owner) return reply(kPmixNotFound, "");
    request(Modex{0, proc}, owner->uid, [reply](const Reply& r) { reply(r.status, r.blob); });
  });
}

void Agent::publish(std::vector<Published> data, StatusReply reply) {
  reactor_.post([this, data = std::move(data), reply = std::move(reply)] {
    request(Publish{0, data}, "", [reply](const Reply& r) { reply(r.status); });
  });
}

void Agent::lookup(std::vector<std::string> keys, bool wait, int timeout_seconds, LookupReply reply) {
  reactor_.post([this, keys = std::move(keys), wait, timeout_seconds, reply = std::move(reply)] {
    request(Lookup{0, keys, wait, timeout_seconds}, "",
            [reply](const Reply& r) { reply(r.status, r.found); });
  });
}

void Agent::unpublish(std::vector<std::string> keys, ProcId owner, StatusReply reply) {
  reactor_.post([this, keys = std::move(keys), owner = std::move(owner), reply = std::move(reply)] {
    request(Unpublish{0, keys, owner}, "", [reply](const Reply& r) { reply(r.status); });
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
    send_to_lead(RankAborted{proc, status, message, output_.tail(proc)});
  });
}

void Agent::event(int code, ProcId source, std::size_t infos, std::string packed) {
  reactor_.post([this, code, source = std::move(source), infos, packed = std::move(packed)] {
    on_message(RankEvent{code, source, infos, packed}, options_.pod_uid);
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

ApiAnswer Agent::health() { return health_of(reactor_.age(), partition_time()); }

ApiAnswer Agent::start(const json& request) {
  return ask([this, r = request.get<StartRequest>()] { return begin_start(r); });
}

ApiAnswer Agent::put_change(const json& request) {
  return ask([this, r = request.get<ChangeRequest>()] { return begin_change(r); });
}

ApiAnswer Agent::get_changes() {
  return ask([this]() -> ApiAnswer { return {200, json_text::safe_text({{"changes", known_changes()}})}; });
}

ApiAnswer Agent::cancel_change(const std::string& id, Fence fence) {
  return ask([this, id, fence]() -> ApiAnswer {
    if (!is_lead()) {
      const ApiAnswer a = check_controller(fence);
      return a.status == 200 ? refuse(404, "change '" + id + "' is not in hand here") : a;
    }
    ApiAnswer answer = lead_->cancel_change(id, fence, moment());
    follow_lead();
    return answer;
  });
}

ApiAnswer Agent::membership() {
  return ask([this]() -> ApiAnswer { return {200, json_text::safe_text(view())}; });
}

ApiAnswer Agent::samples(std::int64_t since) {
  return ask([this, since]() -> ApiAnswer {
    return {200, json_text::safe_text({{"windows", known_samples(since)}})};
  });
}

ApiAnswer Agent::put_fence(const json& request) {
  const Fence fence{wire::integer<std::int64_t>(request.at("fence"))};
  return ask([this, fence]() -> ApiAnswer {
    if (ApiAnswer a = check_controller(fence); a.status != 200) return a;
    return {200, json_text::safe_text({{"fence", fence.value}})};
  });
}

ApiAnswer Agent::report(std::int64_t since) {
  return ask([this, since]() -> ApiAnswer {
    return {200, json_text::safe_text(Report{view(), known_changes(), known_samples(since)})};
  });
}

ApiAnswer Agent::stop(const json& request) {
  const Fence fence{wire::integer<std::int64_t>(request.at("fence"))};
  const std::string reason = request.value("reason", "stopped by the controller");
  return ask([this, fence, reason]() -> ApiAnswer {
    if (ApiAnswer a = check_controller(fence); a.status != 200) return a;
    if (started_ && !is_lead())
      return refuse(409, "pod " + options_.pod_uid + " is not the lead: ask " + lead_uid_);
    JobOutcome outcome{JobResult::Stopped, reason, 0, {}, {}};
    if (lead_) {
      lead_->stop(outcome);
      outcome.last_change = lead_->last_change();
      follow_lead();
    }
    reactor_.after(Millis(20), [this, outcome] { end(outcome); });  // after this answer
    return {200, json_text::safe_text({{"ok", true}})};
  });
}

ApiAnswer Agent::batch(const Batch& batch) {
  std::vector<Message> messages;
  for (const std::string& bytes : batch.messages) try {
      messages.push_back(decode_message(bytes));
    } catch (const std::exception& error) {
      log::warn("malformed message from {}: {}", batch.from, error.what());
    }
  std::lock_guard lock(inbox_mutex_);  // until it is posted: the next batch may come on another connection
  switch (inbox_.accept(batch)) {
    case Arrival::NotOurs:
      return refuse(409, "this is pod " + options_.pod_uid + ", not " + batch.to);
    case Arrival::Dismissed:
      return refuse(409, "pod " + batch.from + " is no member of the job any more");
    case Arrival::Repeated:
      break;
    case Arrival::New:
      reactor_.post([this, from = batch.from, messages = std::move(messages)] {
        for (const Message& message : messages) receive(message, from);
      });
  }
  return {200, encode(Receipt{reactor_.age()})};
}

}  // namespace empi::agent
