// SPDX-License-Identifier: Apache-2.0
// An informer that lists and watches pods of a server with scripted answers, on a clock that a test moves.
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/kube/informer.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube::testing {

using nlohmann::json;

inline json object(const std::string& name, int version) {
  return {{"metadata",
           {{"name", name},
            {"namespace", "a"},
            {"uid", "uid-" + name},
            {"resourceVersion", std::to_string(version)}}},
          {"status", {{"since", version}}}};
}
inline std::string line(const char* type, const json& value) {
  return json{{"type", type}, {"object", value}}.dump() + "\n";
}
inline std::string list_of(int version, const std::vector<json>& items) {
  return json{{"metadata", {{"resourceVersion", std::to_string(version)}}}, {"items", items}}.dump();
}
inline const std::string gone =
    R"({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})";

// Answers the n-th list and the n-th watch with the n-th entry; what comes after the last one hangs.
class Script {
 public:
  using Answer = std::function<void(Exchange&)>;
  std::vector<Answer> lists, watches;
  std::map<std::string, std::string> reads;  // of single objects, by name; others are gone

  void operator()(const Request& request, Exchange& exchange) {
    Answer answer;
    if (!request.path.ends_with("/pods")) {
      const auto known = reads.find(request.path.substr(request.path.rfind('/') + 1));
      return known == reads.end() ? exchange.reply(404, "{}") : exchange.reply(200, known->second);
    }
    {
      std::lock_guard lock(mutex);
      const bool watch = request.query.contains("watch");
      std::size_t& next = watch ? next_watch : next_list;
      auto& answers = watch ? watches : lists;
      if (next < answers.size()) answer = answers[next];
      ++next;
    }
    if (answer) {
      answer(exchange);
    } else {
      exchange.wait_end();
    }
  }

 private:
  std::mutex mutex;
  std::size_t next_list = 0, next_watch = 0;
};

inline Script::Answer listed(int version, const std::vector<json>& items) {
  return [=](Exchange& exchange) { exchange.reply(200, list_of(version, items)); };
}
inline Script::Answer status(int code, const std::string& body = "{}", const std::string& headers = {}) {
  return [=](Exchange& exchange) { exchange.reply(code, body, headers); };
}
// The stream, then its proper end.
inline Script::Answer stream(const std::string& text) {
  return [=](Exchange& exchange) {
    exchange.begin_chunks();
    if (!text.empty()) exchange.chunk(text);
    exchange.end_chunks();
  };
}
// The stream, then nothing more until somebody hangs up.
inline Script::Answer open_stream(const std::string& text) {
  return [=](Exchange& exchange) {
    exchange.begin_chunks();
    for (const char c : text) exchange.chunk(std::string(1, c));  // cut at every byte
    exchange.wait_end();
  };
}

class Watching : public ::testing::Test {
 protected:
  void start(WatcherOptions options = {}) {
    server = std::make_unique<StubServer>(
        [this](const Request& request, Exchange& exchange) { script(request, exchange); });
    ClientOptions client_options;
    client_options.retries = 0;
    client = std::make_unique<Client>(server->config(), client_options, clock);
    options.seed = 1;
    informer = std::make_unique<Informer>(
        *client, resources::kPods, options,
        [this](const Change& change) {
          const char* const signs[] = {"+", "=", "-"};
          std::lock_guard lock(mutex);
          received.push_back(change.received);
          changes +=
              signs[static_cast<int>(change.type)] + change.key.name + (change.from_relist ? "! " : " ");
          condition.notify_all();
        },
        clock);
    informer->start();
  }
  void TearDown() override {
    if (informer) informer->stop();
  }
  // Waits until the changes are as expected, and tells what they are.
  std::string changes_until(const std::string& expected) {
    std::unique_lock lock(mutex);
    condition.wait_for(lock, Seconds(20), [&] { return changes == expected; });
    return changes;
  }
  // The versions that the requests of this kind asked for.
  std::string versions(bool watches) {
    std::string text;
    for (const Request& request : server->requests()) {
      if (request.query.contains("watch") != watches) continue;
      text += request.query.contains("resourceVersion") ? request.query.at("resourceVersion") + " " : "- ";
    }
    return text;
  }
  // Lets the failure that is being waited out pass; tells how long it was.
  Millis pass() {
    const Millis wait = clock.next_wait();
    clock.advance(wait);
    return wait;
  }

  Script script;
  ManualClock clock;
  std::unique_ptr<StubServer> server;
  std::unique_ptr<Client> client;
  std::unique_ptr<Informer> informer;
  std::mutex mutex;
  std::condition_variable condition;
  std::string changes;
  std::vector<Instant> received;  // of these
};

}  // namespace emj::kube::testing
