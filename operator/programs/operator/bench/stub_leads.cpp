// SPDX-License-Identifier: Apache-2.0
// Agents and sidecars of simulated pods, for ./dev bench k8s-scale: one process answers for every pod
// address.
//
// The addresses are made local (ip route add local POD-CIDR dev lo), so that one listener gets all requests
// and knows the pod by the local address of the connection. It speaks the agents' protocol (runtime/protocol)
// and holds controllers to it: a job's token, its fence and its epoch. A change takes its simulated time,
// state by state; there are no ranks. From a SIGUSR1 to the next the agents of every third job (of those
// whose number it divides) say nothing. Usage: stub_leads [--port 7400] [--change-millis 300]
#include <httplib.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/hash.hpp"
#include "runtime/base/options.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Millis = std::chrono::milliseconds;
using empi::ChangeState;

struct Answer {
  int status = 200;
  json body;
};

Answer refuse(int status, const std::string& error) { return {status, {{"error", error}}}; }

std::int64_t wall_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One job, as its lead sees it. Looks at the clock when it is asked; nothing happens in between.
class Job {
 public:
  Job(std::string token, Millis change_time) : token_(std::move(token)), change_time_(change_time) {}

  const std::string& token() const { return token_; }
  const empi::Membership& membership() const { return membership_; }

  Answer start(const empi::StartRequest& request) {
    if (request.fence < fence_) return stale(request.fence);
    fence_ = request.fence;
    if (membership_.epoch.value > 0) return {200, {{"ok", true}}};  // again: the first answer was lost
    membership_ = {empi::Epoch{1}, request.members};
    started_ = wall_seconds();
    return {200, {{"ok", true}}};
  }

  Answer put_change(const empi::ChangeRequest& request) {
    proceed();
    if (request.fence < fence_) return stale(request.fence);
    fence_ = request.fence;
    const auto known = std::ranges::find(changes_, request.id,
                                         [](const empi::ChangeStatus& change) { return change.request.id; });
    if (known != changes_.end()) return {200, json(*known)};
    if (active()) return refuse(409, "change '" + changes_.back().request.id + "' is in hand");
    if (request.epoch != membership_.epoch)
      return refuse(409, "computed from epoch " + std::to_string(request.epoch.value) + ", the job is at " +
                             std::to_string(membership_.epoch.value));
    for (const std::string& uid : request.remove)
      if (!membership_.find(uid)) return refuse(400, "pod " + uid + " is no member");
    empi::ChangeStatus change;
    change.request = request;
    change.state = ChangeState::Preparing;
    change.from_ranks = membership_.ranks();
    change.to_ranks = empi::next_membership(membership_, request.add, request.remove).ranks();
    changes_.push_back(change);
    if (changes_.size() > kKept) changes_.erase(changes_.begin());
    begun_ = Clock::now();
    return {200, json(changes_.back())};
  }

  Answer cancel(const std::string& id, empi::Fence fence) {
    if (fence < fence_) return stale(fence);
    proceed();
    if (!active() || changes_.back().request.id != id || committed())
      return refuse(404, "change '" + id + "' is not in hand here");
    end(empi::ChangeOutcome::RolledBack, "cancelled by the controller");
    return {200, json(changes_.back())};
  }

  Answer stop(empi::Fence fence, const std::string& reason) {
    if (fence < fence_) return stale(fence);
    outcome_ = {empi::JobResult::Stopped, reason, 0, {}};
    return {200, {{"ok", true}}};
  }

  Answer take(empi::Fence fence) {
    if (fence < fence_) return stale(fence);
    fence_ = fence;
    return {200, {{"fence", fence.value}}};
  }

  empi::MembershipView view(const std::string& uid) {
    proceed();
    empi::MembershipView view;
    view.uid = uid;
    view.fence = fence_;
    view.membership = membership_;
    view.ranks = membership_.ranks();
    if (active()) {
      view.state = changes_.back().state;
      view.change = changes_.back().request.id;
    }
    view.outcome = outcome_;
    return view;
  }

  Answer report(const std::string& uid, std::int64_t since) {
    return {200, json(empi::Report{view(uid), changes_, windows(since)})};
  }

 private:
  static constexpr std::size_t kKept = 8;
  static constexpr std::int64_t kWindows = 600;

  Answer stale(empi::Fence fence) const {
    return refuse(409, "fence " + std::to_string(fence.value) + " is below " + std::to_string(fence_.value) +
                           ": another controller has taken the job");
  }

  // One window a second, of a program that scales well, and whose iterations take up to 5 % more or less.
  std::vector<empi::WindowSample> windows(std::int64_t since) const {
    const std::int64_t now = wall_seconds();
    std::vector<empi::WindowSample> windows;
    for (std::int64_t i = std::max({since + 1, now - kWindows, started_ + 1}); i < now; ++i)
      windows.push_back(window(i));
    return windows;
  }

  bool active() const {
    return !changes_.empty() && changes_.back().outcome == empi::ChangeOutcome::Unfinished;
  }
  bool committed() const { return membership_.epoch > changes_.back().request.epoch; }

  void end(empi::ChangeOutcome outcome, const std::string& reason) {
    changes_.back().state = ChangeState::Stable;
    changes_.back().outcome = outcome;
    changes_.back().reason = reason;
  }

  // Half of the time passes until every joiner is there, most of the rest until the next world is built.
  void proceed() {
    if (!active()) return;
    empi::ChangeStatus& change = changes_.back();
    const auto since = Clock::now() - begun_;
    if (since < change_time_ / 2) return;
    if (since < change_time_ * 9 / 10) {
      change.state = ChangeState::Building;
    } else if (since < change_time_) {
      change.state = ChangeState::Window;
    } else {
      membership_ = empi::next_membership(membership_, change.request.add, change.request.remove);
      change.times.pause_ms = static_cast<double>(change_time_.count()) / 10;
      change.released = change.request.remove;
      end(empi::ChangeOutcome::Committed, "");
    }
  }

  empi::WindowSample window(std::int64_t index) const {
    empi::WindowSample sample;
    sample.index = index;
    sample.width_s = 1;
    sample.epoch = membership_.epoch.value;
    sample.ranks = membership_.ranks();
    sample.pods = static_cast<int>(membership_.members.size());
    sample.elapsed_s = sample.ranks;
    sample.useful_s = .9 * sample.ranks;
    sample.max_useful_s = .95;
    sample.max_pod_useful_s = .95 * sample.ranks / std::max(sample.pods, 1);
    sample.mpi_s = .1 * sample.ranks;
    const double jitter =
        .95 + .1 * static_cast<double>(empi::mix64(static_cast<std::uint64_t>(index)) >> 40) / (1 << 24);
    sample.iterations = 50;
    sample.iteration_s = jitter;
    sample.iteration_s2 = .02 * jitter * jitter;
    sample.work_units = 1e6;
    return sample;
  }

  const std::string token_;
  const Millis change_time_;
  empi::Fence fence_;
  empi::Membership membership_;
  std::vector<empi::ChangeStatus> changes_;
  Clock::time_point begun_;
  std::int64_t started_ = 0;
  empi::JobOutcome outcome_;
};

std::atomic<bool> silence{false};
static_assert(std::atomic<bool>::is_always_lock_free);
extern "C" void toggle_silence(int) { silence = !silence; }

// Of "job-12-w-3": 12; -1 of others.
int number_of(const std::string& pod) {
  return pod.starts_with("job-") ? static_cast<int>(std::strtol(pod.c_str() + 4, nullptr, 10)) : -1;
}

// Which job's agent answers at an address. An agent that belongs to none has not been started.
class Leads {
 public:
  explicit Leads(Millis change_time) : change_time_(change_time) {}

  using Ask = std::function<Answer(Job& job, const std::string& uid)>;
  Answer ask(const httplib::Request& request, const Ask& question) {
    if (is_silent(request)) return keep_silent();
    const std::lock_guard lock(mutex_);
    const auto pod = pod_at(request);
    if (pod == pods_.end()) return refuse(409, "this agent was not started");
    if (!allowed(*pod->second.job, request)) return refuse(401, "wrong or missing bearer token");
    const std::shared_ptr<Job> job = pod->second.job;
    Answer answer = question(*job, pod->second.uid);
    follow(job);
    return answer;
  }

  Answer report(const httplib::Request& request, std::int64_t since) {
    {
      const std::lock_guard lock(mutex_);
      if (pod_at(request) == pods_.end()) return {200, json(empi::Report{})};
    }
    return ask(request, [since](Job& job, const std::string& uid) { return job.report(uid, since); });
  }

  Answer start(const httplib::Request& request) {
    const auto asked = json::parse(request.body).get<empi::StartRequest>();
    if (asked.members.empty()) return refuse(400, "no members");
    {
      const std::lock_guard lock(mutex_);
      Pod& pod = pods_[request.local_addr];
      // Another pod may have had this address before.
      if (!pod.job || pod.uid != asked.members.front().uid) {
        pod = {asked.members.front().uid, std::make_shared<Job>(token_of(request), change_time_)};
        jobs_[token_of(request)] = pod.job;
      }
    }
    return ask(request, [&](Job& job, const std::string&) { return job.start(asked); });
  }

 private:
  struct Pod {
    std::string uid;
    std::shared_ptr<Job> job;
  };

  bool is_silent(const httplib::Request& request) {
    if (!silence) return false;
    const std::lock_guard lock(mutex_);
    const auto pod = pod_at(request);
    if (pod == pods_.end() || pod->second.job->membership().members.empty()) return false;
    return number_of(pod->second.job->membership().members.front().name) % 3 == 0;
  }
  // Longer than anybody waits for an answer.
  static Answer keep_silent() {
    for (const auto end = Clock::now() + std::chrono::seconds(15); silence && Clock::now() < end;)
      std::this_thread::sleep_for(Millis(100));
    return refuse(503, "it was told to say nothing");
  }

  // Unlike a kubelet, kwok gives a pod a second address now and then, after the program was started at the
  // first: whoever is asked there with a job's token is taken for that job's lead.
  std::map<std::string, Pod>::iterator pod_at(const httplib::Request& request) {
    const auto known = pods_.find(request.local_addr);
    if (known != pods_.end()) return known;
    const auto of_job = jobs_.find(token_of(request));
    if (of_job == jobs_.end() || of_job->second->membership().members.empty()) return pods_.end();
    const Pod lead{of_job->second->membership().members.front().uid, of_job->second};
    return pods_.emplace(request.local_addr, lead).first;
  }

  static std::string token_of(const httplib::Request& request) {
    return request.get_header_value("Authorization");
  }
  static bool allowed(const Job& job, const httplib::Request& request) {
    return !job.token().empty() && token_of(request) == job.token();
  }

  // Newcomers' addresses are the job's, once they have joined. (Those of leavers are forgotten when somebody
  // else gets them: until then they answer as former members do.)
  void follow(const std::shared_ptr<Job>& job) {
    for (const empi::Member& member : job->membership().members) {
      const std::string address = member.address.substr(0, member.address.rfind(':'));
      Pod& pod = pods_[address];
      if (pod.job != job || pod.uid != member.uid) pod = {member.uid, job};
    }
  }

  const Millis change_time_;
  std::mutex mutex_;
  std::map<std::string, Pod> pods_;                   // by address
  std::map<std::string, std::shared_ptr<Job>> jobs_;  // by token
};

// As the agents have it: a kept connection must not keep others waiting.
class ThreadPerConnection final : public httplib::TaskQueue {
 public:
  bool enqueue(std::function<void()> serve) override {
    std::thread(std::move(serve)).detach();  // until the process is killed
    return true;
  }
  void shutdown() override {}
};

httplib::Server::Handler handler(std::function<Answer(const httplib::Request&)> handle) {
  return [handle = std::move(handle)](const httplib::Request& request, httplib::Response& response) {
    Answer answer;
    try {
      answer = handle(request);
    } catch (const json::exception& error) {
      answer = refuse(400, std::string("malformed request: ") + error.what());
    }
    response.status = answer.status;
    response.set_content(answer.body.dump(), "application/json");
  };
}

namespace paths = empi::paths;
using Request = const httplib::Request&;

std::int64_t number(const std::string& text, std::int64_t otherwise) {
  return text.empty() ? otherwise : std::strtoll(text.c_str(), nullptr, 10);
}

// What the agents' sidecars tell, too.
void route_report(httplib::Server& server, Leads& leads) {
  server.Get(paths::kReport,
             handler([&](Request r) { return leads.report(r, number(r.get_param_value("since"), -1)); }));
}

void route(httplib::Server& server, Leads& leads) {
  server.Get(paths::kHealth, handler([](Request) { return Answer{200, {{"ok", true}}}; }));
  server.Post(paths::kStart, handler([&](Request r) { return leads.start(r); }));
  route_report(server, leads);
  server.Put(paths::kFence, handler([&](Request r) {
               const empi::Fence fence{json::parse(r.body).at("fence").get<std::int64_t>()};
               return leads.ask(r, [&](Job& job, const std::string&) { return job.take(fence); });
             }));
  server.Put(paths::kChange, handler([&](Request r) {
               const auto change = json::parse(r.body).get<empi::ChangeRequest>();
               return leads.ask(r, [&](Job& job, const std::string&) { return job.put_change(change); });
             }));
  server.Delete(paths::kChange, handler([&](Request r) {
                  const empi::Fence fence{number(r.get_param_value("fence"), -1)};
                  return leads.ask(r, [&](Job& job, const std::string&) {
                    return job.cancel(r.get_param_value("id"), fence);
                  });
                }));
  server.Post(paths::kStop, handler([&](Request r) {
                const json body = json::parse(r.body);
                return leads.ask(r, [&](Job& job, const std::string&) {
                  return job.stop(empi::Fence{body.at("fence").get<std::int64_t>()},
                                  body.value("reason", ""));
                });
              }));
}

}  // namespace

int main(int argc, char** argv) {
  int port = empi::names::kDefaultAgentPort;
  int change_millis = 300;
  const empi::options::Program program{
      .what = "Answers for the agents of simulated pods, at every address that reaches this machine.",
      .name = "stub_leads",
      .options = {
          {"--port", &port, "", {.shows_default = true}},
          {"--change-millis", &change_millis, "how long a change takes", {.shows_default = true}},
      }};
  empi::options::read_or_exit(program, argc, argv);

  signal(SIGUSR1, toggle_silence);
  Leads leads{Millis(change_millis)};
  httplib::Server agents, sidecars;
  for (httplib::Server* server : {&agents, &sidecars}) {
    server->new_task_queue = [] { return new ThreadPerConnection; };
    server->set_tcp_nodelay(true);
    server->set_keep_alive_max_count(1'000'000'000);
    server->set_keep_alive_timeout(1);
  }
  route(agents, leads);
  route_report(sidecars, leads);
  std::thread looks([&] { sidecars.listen("0.0.0.0", empi::names::kDefaultSidecarPort); });
  const bool listened = agents.listen("0.0.0.0", port);
  if (!listened) std::fprintf(stderr, "stub_leads: cannot listen on port %d\n", port);
  sidecars.stop();
  looks.join();
  return listened ? 0 : 1;
}
