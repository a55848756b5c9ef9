// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/testing/local_pods.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "runtime/agent/testing/ports.hpp"
#include "runtime/agent/testing/stacks.hpp"
#include "runtime/agent/testing/whole_file.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The same tests run with an agent that was built with a sanitizer.
std::string agent_to_test() {
  const char* other = std::getenv("EMPI_TEST_AGENT");
  return other ? other : beside("elastic-mpi-agent");
}

}  // namespace

LocalPods::LocalPods(std::string agent) : agent_(agent.empty() ? agent_to_test() : std::move(agent)) {
  char name[] = "/tmp/empi-pods.XXXXXX";
  if (!mkdtemp(name)) throw std::runtime_error("cannot make a folder in /tmp");
  folder_ = name;
  token_ = "secret-" + std::to_string(getpid()) + "-" + fs::path(folder_).filename().string();
  std::ofstream(folder_ + "/token") << token_ << "\n";
}

LocalPods::~LocalPods() {
  for (Pod& p : pods_)
    if (!poll_exit(p)) kill(p.pid, SIGKILL);
  for (Pod& p : pods_) {
    while (!p.exit_code) {
      int status;
      if (waitpid(p.pid, &status, 0) == p.pid) p.exit_code = status;
    }
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void LocalPods::start_process(Pod& p) {
  std::vector<std::string> argv = wrapper;
  argv.push_back(agent_);
  argv.push_back("--");
  argv.insert(argv.end(), command.begin(), command.end());
  std::map<std::string, std::string> env;
  for (char** at = environ; *at; ++at)
    if (const char* equals = std::strchr(*at, '='))
      env[std::string(*at, static_cast<std::size_t>(equals - *at))] = equals + 1;
  const auto colon = p.member.address.find(':');
  env[names::kJobName] = job;
  env[names::kPodName] = p.member.name;
  env[names::kPodUid] = p.member.uid;
  env[names::kPodAddress] = p.member.address.substr(0, colon);
  env[names::kAgentPort] = p.member.address.substr(colon + 1);
  env[names::kSlots] = std::to_string(p.member.slots);
  env[names::kTokenFile] = folder_ + "/token";
  env[names::kMode] = mode;
  env[names::kNetworkInterface] = "lo";
  env[names::kSharedProcessors] = "yes";
  env[names::kCheckMpi] = "no";  // it is this machine's for all of them: 20 ms of processor time each
  env[names::kRunDir] = p.folder;
  env[names::kTerminationLog] = p.folder + ".end";
  if (p.number < nodes.size()) env[names::kNodeName] = nodes[p.number];
  for (const auto& [name, value] : environment) env[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : env) entries.push_back(std::string(name).append("=").append(value));
  const auto pointers = [](std::vector<std::string>& list) {
    std::vector<char*> raw;
    for (std::string& text : list) raw.push_back(text.data());
    raw.push_back(nullptr);
    return raw;
  };
  std::vector<char*> args = pointers(argv), variables = pointers(entries);
  const std::string log = p.folder + ".log";
  const int out = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  const pid_t self = getpid();
  p.pid = fork();
  if (p.pid < 0) throw std::runtime_error("cannot fork");
  if (p.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(1);
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(out, 1);
    dup2(out, 2);
    close_range(3, ~0u, 0);
    environ = variables.data();
    execvp(args[0], args.data());
    _exit(127);
  }
  close(out);
}

std::vector<Member> LocalPods::launch(int count) {
  std::vector<Member> members;
  for (int i = 0; i < count; ++i) {
    Pod p;
    p.number = static_cast<std::size_t>(next_pod_++);
    const std::string number = std::to_string(p.number);
    p.member.uid = new_uid(number);
    p.member.name = "pod-" + number;
    p.member.address = "127.0.0.1:" + std::to_string(free_port());
    p.member.slots = slots;
    p.folder = folder_ + "/" + number;
    fs::create_directory(p.folder);
    start_process(p);
    members.push_back(p.member);
    pods_.push_back(std::move(p));
  }
  for (const Member& m : members)
    wait_until("agent " + m.name + " listens", [&] {
      if (poll_exit(pod(m.uid))) throw std::runtime_error("agent " + m.name + " has ended:\n" + log(m.uid));
      const HttpAnswer a = call("GET", m, paths::kMembership);  // another job's agent would answer 401
      return a.status == 200 && json::parse(a.body).at("uid") == m.uid;
    });
  return members;
}

// Of no other test: agents name their shared memory by it, and the janitor of one that was killed removes it
// later.
std::string LocalPods::new_uid(const std::string& number) const {
  return "uid-" + number + "-" + fs::path(folder_).filename().string();
}

Member LocalPods::missing_pod() {
  const std::string number = std::to_string(next_pod_++);
  return {new_uid(number), "pod-" + number, "127.0.0.1:" + std::to_string(free_port()), slots, "", 0};
}

HttpAnswer LocalPods::call(const std::string& method, const Member& pod, const std::string& path,
                           const std::string& body, const std::optional<std::string>& token,
                           const std::string& content_type) {
  httplib::Client client("http://" + pod.address);
  client.set_connection_timeout(2s);
  client.set_read_timeout(10s);
  client.set_default_headers({{"Authorization", "Bearer " + token.value_or(token_)}});
  httplib::Result result;
  if (method == "GET")
    result = client.Get(path);
  else if (method == "PUT")
    result = client.Put(path, body, content_type);
  else if (method == "POST")
    result = client.Post(path, body, content_type);
  else
    result = client.Delete(path);
  if (!result) return {};
  return {result->status, result->body};
}

void LocalPods::start(const std::vector<Member>& members) {
  const HttpAnswer a = call("POST", members.front(), paths::kStart,
                            json(StartRequest{fence, members, leaver_grace, probe, recover}).dump());
  if (a.status != 200)
    throw std::runtime_error("start was refused: " + std::to_string(a.status) + " " + a.body);
  members_.clear();
  for (const Member& m : members) members_.push_back(m.uid);
}

void LocalPods::say_lost(const std::vector<std::string>& uids) {
  const auto is_lost = [&](const std::string& uid) { return std::ranges::find(uids, uid) != uids.end(); };
  ++fence.value;
  std::optional<std::string> told;
  wait_until("the first of the others takes the word of who is lost", [&] {
    // By this word the job may end, and who took it before it has answered.
    if (told && poll_exit(pod(*told)) && pod(*told).exit_code == 0) return true;
    const auto view = find_membership();
    if (!view) return false;
    const auto& members = view->membership.members;
    const auto next = std::ranges::find_if(members, [&](const Member& m) { return !is_lost(m.uid); });
    if (next == members.end()) throw std::runtime_error("nobody is left");
    const LeadRequest word{fence, next->uid, uids, "pod is gone"};
    told = next->uid;
    return call("PUT", *next, paths::kLead, json(word).dump()).status == 200;
  });
}

std::optional<MembershipView> LocalPods::find_membership() {
  for (const std::string& uid : members_) {
    const HttpAnswer a = call("GET", pod(uid).member, paths::kMembership);
    if (a.status != 200) continue;
    auto found = json::parse(a.body).get<MembershipView>();
    if (found.membership.members.empty()) continue;
    members_.clear();
    for (const Member& m : found.membership.members) members_.push_back(m.uid);
    return found;
  }
  return std::nullopt;
}

MembershipView LocalPods::membership() {
  std::optional<MembershipView> found;
  wait_until("a member tells the membership", [&] {
    found = find_membership();
    return found.has_value();
  });
  return *found;
}

Member LocalPods::lead() { return membership().membership.lead(); }

std::vector<WindowSample> LocalPods::samples() {
  const HttpAnswer a = call("GET", lead(), paths::kSample);
  return json::parse(a.body).at("windows").get<std::vector<WindowSample>>();
}

std::string LocalPods::request_change(const WantedChange& wanted) {
  ChangeRequest r;
  r.id = "change-" + std::to_string(next_change_++);
  r.fence = fence;
  r.add = wanted.add;
  r.remove = wanted.remove;
  r.deadline_ms = wanted.deadline.count();
  wait_until("the lead takes change " + r.id, [&] {
    const MembershipView view = membership();
    r.epoch = view.membership.epoch;
    const HttpAnswer a = call("PUT", view.membership.lead(), paths::kChange, json(r).dump());
    if (a.status == 200) return true;
    // While the job starts or an earlier lead hands over the request is premature; else it is wrong.
    const bool premature =
        a.status == 409 &&
        (a.body.find("still starting") != a.body.npos || a.body.find("not the lead") != a.body.npos ||
         a.body.find("in hand") != a.body.npos || a.body.find("stale") != a.body.npos);
    if (a.status != 0 && !premature) throw std::runtime_error("change was refused: " + a.body);
    return false;
  });
  for (const Member& m : wanted.add) members_.push_back(m.uid);
  return r.id;
}

std::optional<ChangeStatus> LocalPods::find_change(const std::string& id) {
  // The lead may have left meanwhile: ask everybody who may know.
  for (const std::string& uid : std::vector<std::string>(members_)) {
    if (std::ranges::none_of(pods_, [&](const Pod& p) { return p.member.uid == uid; })) continue;
    const HttpAnswer a = call("GET", pod(uid).member, paths::kChange);
    if (a.status != 200) continue;
    const json answer = json::parse(a.body);
    for (const json& entry : answer.at("changes"))
      if (entry.at("request").at("id") == id) return entry.get<ChangeStatus>();
  }
  return {};
}

std::optional<ChangeStatus> LocalPods::wait_for_change_or_end(const std::string& id) {
  std::optional<ChangeStatus> status;
  wait_until("change " + id + " or the job ends", [&] {
    const bool over =
        std::ranges::none_of(std::vector(members_), [&](const std::string& uid) { return running(uid); });
    status = find_change(id);
    return over || (status && status->outcome != ChangeOutcome::Unfinished);
  });
  return status;
}

ChangeStatus LocalPods::wait_for_change(const std::string& id) {
  const std::optional<ChangeStatus> status = wait_for_change_or_end(id);
  if (!status) throw std::runtime_error("the job has ended before change " + id + "\n" + all_logs());
  return *status;
}

ChangeStatus LocalPods::wait_for_state(const std::string& id, ChangeState state) {
  std::optional<ChangeStatus> status;
  wait_until("change " + id + " reaches " + std::string(to_string(state)), [&] {
    status = find_change(id);
    return status && (status->state >= state || status->outcome != ChangeOutcome::Unfinished);
  });
  return *status;
}

ChangeStatus LocalPods::change(const WantedChange& wanted) {
  const std::string id = request_change(wanted);
  const ChangeStatus status = wait_for_change(id);
  for (const std::string& uid : status.released) wait_for_end(uid);
  membership();
  return status;
}

LocalPods::Pod& LocalPods::pod(const std::string& uid) {
  auto at = std::ranges::find(pods_, uid, [](const Pod& p) { return p.member.uid; });
  if (at == pods_.end()) throw std::runtime_error("no pod with uid " + uid);
  return *at;
}

bool LocalPods::poll_exit(Pod& p) {
  if (p.exit_code) return true;
  int status;
  if (waitpid(p.pid, &status, WNOHANG) == p.pid)
    p.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return p.exit_code.has_value();
}

bool LocalPods::running(const std::string& uid) { return !poll_exit(pod(uid)); }
void LocalPods::signal(const std::string& uid, int signal) { kill(pod(uid).pid, signal); }
pid_t LocalPods::agent_pid(const std::string& uid) { return pod(uid).pid; }

int LocalPods::wait_for_end(const std::string& uid) {
  wait_until("the agent of " + uid + " ends", [&] { return poll_exit(pod(uid)); });
  return *pod(uid).exit_code;
}

std::vector<pid_t> LocalPods::ranks(const std::string& uid) {
  std::vector<pid_t> found;
  const std::string page = std::string(names::kPage) + "=" + run_dir(uid) + "/";
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && whole_file(entry.path() / "environ").find(page) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::string LocalPods::run_dir(const std::string& uid) const {
  return const_cast<LocalPods*>(this)->pod(uid).folder;
}
std::string LocalPods::termination_log(const std::string& uid) const {
  return whole_file(run_dir(uid) + ".end");
}
std::string LocalPods::log(const std::string& uid) { return whole_file(pod(uid).folder + ".log"); }

std::string LocalPods::all_logs() {
  std::string text;
  for (const Pod& p : pods_) text += "--- " + p.member.name + "\n" + log(p.member.uid);
  return text;
}

std::string LocalPods::sanitizer_reports() {
  std::string text;
  for (const Pod& p : pods_) {
    const std::string all = log(p.member.uid);
    for (const char* mark : {"Sanitizer: ", "runtime error: "})
      if (all.find(mark) != all.npos) {
        text += "--- " + p.member.name + "\n" + all;
        break;
      }
  }
  return text;
}

std::string LocalPods::where_agents_wait() {
  std::string text;
  for (Pod& p : pods_)
    if (!poll_exit(p)) text += "--- " + p.member.name + "\n" + threads_and_children(p.pid);
  return text;
}

std::string LocalPods::where_ranks_wait() {
  std::string text;
  const auto until = Clock::now() + 40s;
  for (Pod& p : pods_) {
    if (poll_exit(p)) continue;
    for (const pid_t rank : ranks(p.member.uid)) {
      if (Clock::now() > until) return text + "--- and others\n";
      text += "--- a rank of " + p.member.name + ", " + std::to_string(rank) + "\n" + stacks(rank);
    }
  }
  return text;
}

void LocalPods::wait_until(const std::string& what, const std::function<bool()>& done) {
  const auto until = Clock::now() + patience;
  while (!done()) {
    if (Clock::now() > until) {
      const std::string told = "not within " + std::to_string(patience.count()) + " s: " + what + "\n" +
                               all_logs() + where_agents_wait();
      std::cerr << told << std::flush;  // should the test be ended before gdb is
      throw std::runtime_error(told + where_ranks_wait());
    }
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace empi::testing
