// SPDX-License-Identifier: Apache-2.0
// Where foreign threads come in: PMIx upcalls and HTTP requests. They copy, post and return; HTTP waits for
// the agent's answer, bounded.
#include <cstring>
#include <future>

#include "runtime/agent/agent.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/integers.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

constexpr auto kAnswerTime = std::chrono::seconds(5);

}  // namespace

void Agent::collective(std::string kind, std::vector<ProcId> procs, std::string blob, BlobReply reply) {
  reactor_.post([this, kind = std::move(kind), procs = RankRuns(procs), blob = std::move(blob),
                 reply = std::move(reply)] {
    pod_.request(Collective{0, kind, procs, blob}, "", [reply](const Reply& r) { reply(r.status, r.blob); });
  });
}

void Agent::direct_modex(ProcId proc, BlobReply reply) {
  reactor_.post(
      [this, proc = std::move(proc), reply = std::move(reply)] { pod_.connection_data(proc, reply); });
}

void Agent::publish(std::vector<Published> data, StatusReply reply) {
  reactor_.post([this, data = std::move(data), reply = std::move(reply)] {
    pod_.request(Publish{0, data}, "", [reply](const Reply& r) { reply(r.status); });
  });
}

void Agent::lookup(std::vector<std::string> keys, bool wait, int timeout_seconds, LookupReply reply) {
  reactor_.post([this, keys = std::move(keys), wait, timeout_seconds, reply = std::move(reply)] {
    pod_.request(Lookup{0, keys, wait, timeout_seconds}, "",
                 [reply](const Reply& r) { reply(r.status, r.found); });
  });
}

void Agent::unpublish(std::vector<std::string> keys, ProcId owner, StatusReply reply) {
  reactor_.post([this, keys = std::move(keys), owner = std::move(owner), reply = std::move(reply)] {
    pod_.request(Unpublish{0, keys, owner}, "", [reply](const Reply& r) { reply(r.status); });
  });
}

void Agent::client_connected(ProcId proc) {
  reactor_.post([this, proc = std::move(proc)] { pod_.rank_connected(proc); });
}

void Agent::client_finalized(ProcId proc) {
  reactor_.post([this, proc = std::move(proc)] { pod_.rank_left_pmix(proc); });
}

void Agent::client_said(ProcId proc, int target, std::string text, StatusReply reply) {
  edges_.output().say(proc, target, text);
  reactor_.post(
      [reply = std::move(reply)] { reply(kPmixSuccess); });  // PMIx wants no answer before we return
}

void Agent::client_aborted(ProcId proc, int status, std::string message) {
  reactor_.post([this, proc = std::move(proc), status, message = std::move(message)] {
    edges_.output().drain(kLastWords);
    pod_.rank_aborted({proc, status, message, edges_.output().tail(proc)});
  });
}

void Agent::event(int code, ProcId source, std::size_t infos, std::string packed) {
  reactor_.post([this, code, source = std::move(source), infos, packed = std::move(packed)] {
    pod_.rank_raised({code, source, infos, packed});
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
  return ask([this, r = request.get<StartRequest>()] {
    if (pod_.ranks().count_running() == 0) withdraw(options_.restart);
    return pod_.start(r);
  });
}

ApiAnswer Agent::put_change(const json& request) {
  return ask([this, r = request.get<ChangeRequest>()] { return pod_.begin_change(r); });
}

ApiAnswer Agent::get_changes() {
  return ask(
      [this]() -> ApiAnswer { return {200, json_text::safe_text({{"changes", pod_.known_changes()}})}; });
}

ApiAnswer Agent::cancel_change(const std::string& id, Fence fence) {
  return ask([this, id, fence] { return pod_.cancel_change(id, fence); });
}

MembershipView Agent::view() const {
  MembershipView view = pod_.view();
  view.notice = notice_;
  return view;
}

ApiAnswer Agent::membership() {
  return ask([this]() -> ApiAnswer { return {200, json_text::safe_text(view())}; });
}

ApiAnswer Agent::samples(std::int64_t since) {
  return ask([this, since]() -> ApiAnswer {
    return {200, json_text::safe_text({{"windows", pod_.known_samples(since)}})};
  });
}

ApiAnswer Agent::put_fence(const json& request) {
  const Fence fence{wire::integer<std::int64_t>(request.at("fence"))};
  return ask([this, fence]() -> ApiAnswer {
    if (ApiAnswer a = pod_.check_controller(fence); a.status != 200) return a;
    return {200, json_text::safe_text({{"fence", fence.value}})};
  });
}

ApiAnswer Agent::put_lead(const json& request) {
  return ask([this, r = request.get<LeadRequest>()] { return pod_.name_lead(r); });
}

ApiAnswer Agent::report(std::int64_t since) {
  return ask([this, since]() -> ApiAnswer {
    return {200, json_text::safe_text(Report{view(), pod_.known_changes(), pod_.known_samples(since)})};
  });
}

ApiAnswer Agent::stop(const json& request) {
  return ask([this, r = request.get<StopRequest>()] { return pod_.stop(r); });
}

ApiAnswer Agent::notice(const json& request) {
  const Fence fence{wire::integer<std::int64_t>(request.at("fence"))};
  const auto id = request.at("id").get<std::string>();
  return ask([this, fence, id] { return give_notice(id, fence); });
}

ApiAnswer Agent::give_notice(const std::string& id, Fence fence) {
  if (ApiAnswer a = pod_.check_controller(fence); a.status != 200) return a;
  if (!options_.restart.given())
    return refuse(409, "the program is not restartable: the agent was started without " +
                           std::string(names::kRestartNotice));
  if (pod_.ranks().count_running() == 0) return refuse(409, "no rank of the program runs here");
  if (notice_ != id) {
    // It would be killed, with all that it has computed: it may have just begun, or knows no such thing.
    const int signal = options_.restart.signal;
    if (const auto rank = signal != 0 ? edges_.without_handler(signal) : std::nullopt)
      return refuse(409, "rank " + std::to_string(rank->rank) + " has no handler for the signal " +
                             strsignal(signal) + " (yet), which would kill it");
    give(options_.restart, [this](int signal) { edges_.signal_all(signal); });
    notice_ = id;
  }
  return {200, json_text::safe_text({{"notice", id}})};
}

ApiAnswer Agent::batch(const Batch& batch) {
  std::vector<Message> messages;
  for (const std::string& bytes : batch.messages) try {
      messages.push_back(decode_message(bytes));
    } catch (const std::exception& error) {
      log::warn("malformed message from {}: {}", batch.from, error.what());
    }
  const auto take = [&] {
    reactor_.post([this, from = batch.from, messages = std::move(messages)] {
      for (const Message& message : messages) pod_.receive(message, from);
    });
  };
  switch (edges_.accept(batch, take)) {
    case Arrival::NotOurs:
      return refuse(409, "this is pod " + options_.pod_uid + ", not " + batch.to);
    case Arrival::Dismissed:
      return refuse(410, "pod " + batch.from + " is no member of the job any more");
    case Arrival::Repeated:
      reactor_.post([this, from = batch.from] { pod_.heard(from); });
      break;
    case Arrival::New:
      break;
  }
  return {200, encode(Receipt{reactor_.age()})};
}

}  // namespace empi::agent
