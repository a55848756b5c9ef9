#include "e2e/bench/local_job.hpp"

#include <arpa/inet.h>
#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::bench {
namespace {

using nlohmann::json;

constexpr char kToken[] = "bench";
constexpr std::int64_t kDeadlineMs = 90'000;  // of a change
constexpr int kPatience = 120;                // s, for anything else
constexpr int kWindowMillis = 250;

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (fd >= 0) ::close(fd);
  if (!bound) throw std::runtime_error("no free port on the loopback interface");
  return ntohs(address.sin_port);
}

httplib::Client client(const std::string& address) {
  httplib::Client c("http://" + address);
  c.set_bearer_token_auth(kToken);
  c.set_read_timeout(std::chrono::seconds(10));
  return c;
}

json body_of(const std::string& what, const httplib::Result& answer) {
  if (!answer) throw std::runtime_error(what + ": " + httplib::to_string(answer.error()));
  if (answer->status != 200)
    throw std::runtime_error(what + ": " + std::to_string(answer->status) + " " + answer->body);
  return json::parse(answer->body);
}

void eventually(const std::string& what, int milliseconds, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatience);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error("waited " + std::to_string(kPatience) + " s in vain until " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
}

}  // namespace

LocalJob::LocalJob(std::vector<std::string> command, int pods, int slots, double slowdown)
    : command_(std::move(command)), slots_(slots), slowdown_(slowdown) {
  std::string folder = (std::filesystem::temp_directory_path() / "empi-bench-XXXXXX").string();
  if (!::mkdtemp(folder.data())) throw std::runtime_error("cannot make a folder like " + folder);
  folder_ = folder;
  std::ofstream(folder_ / "token") << kToken << '\n';
  StartRequest request;
  request.fence = {1};
  for (int i = 0; i < pods; ++i) request.members.push_back(start_pod());
  for (const Member& member : request.members) await_agent(member);
  body_of("start",
          client(request.members[0].address).Post(paths::kStart, json(request).dump(), "application/json"));
  membership_.members = request.members;
  settle(50);
}

LocalJob::~LocalJob() {
  if (!membership_.members.empty())
    client(membership_.lead().address)
        .Post(paths::kStop, json{{"fence", 1}, {"reason", "the benchmark is over"}}.dump(),
              "application/json");
  while (!pods_.empty()) end_pod(pods_.begin()->first);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Member LocalJob::start_pod() {
  const int number = next_pod_++;
  const std::string name = "bench-w-" + std::to_string(number), run_dir = folder_ / std::to_string(number);
  std::filesystem::create_directory(run_dir);
  const int port = free_port();
  const Member member{.uid = "uid-" + std::to_string(number),
                      .name = name,
                      .address = "127.0.0.1:" + std::to_string(port),
                      .slots = slots_,
                      .nspace = ""};
  const auto variable = [](const char* key, const std::string& value) {
    return std::string(key) + "=" + value;
  };
  std::vector<std::string> environment = {variable(names::kJobName, "bench"),
                                          variable(names::kJobUid, "bench-" + std::to_string(::getpid())),
                                          variable(names::kPodName, name),
                                          variable(names::kPodUid, member.uid),
                                          variable(names::kPodAddress, "127.0.0.1"),
                                          variable(names::kAgentPort, std::to_string(port)),
                                          variable(names::kSlots, std::to_string(slots_)),
                                          variable(names::kTokenFile, folder_ / "token"),
                                          variable(names::kMode, "malleable"),
                                          variable(names::kNetworkInterface, "lo"),
                                          variable(names::kRunDir, run_dir),
                                          variable(names::kWindowMillis, std::to_string(kWindowMillis)),
                                          variable(names::kLogLevel, "warn"),
                                          variable(names::kPartitionSeconds, "120"),
                                          variable(names::kSlowdown, std::to_string(slowdown_))};
  std::vector<std::string> command = {EMPI_AGENT_PROGRAM, "--"};
  command.insert(command.end(), command_.begin(), command_.end());
  pods_[member.uid] = {member, std::make_unique<sidecar::testing::Process>(command, environment)};
  return member;
}

void LocalJob::await_agent(const Member& member) {
  eventually("the agent of " + member.name + " answers", 20, [&] {
    const auto answer = client(member.address).Get(paths::kHealth);
    return answer && answer->status == 200;
  });
}

void LocalJob::end_pod(const std::string& uid) {
  sidecar::testing::Process& agent = *pods_.at(uid).agent;
  try {
    agent.wait(5);  // released agents go by themselves
  } catch (const std::exception&) {
    try {
      agent.stop(SIGTERM, 5);
    } catch (const std::exception&) {
      std::fprintf(stderr, "bench_change: the agent of %s had to be killed\n", uid.c_str());
    }
  }
  pods_.erase(uid);
}

MembershipView LocalJob::view(const std::string& address) {
  return body_of("membership", client(address).Get(paths::kMembership)).get<MembershipView>();
}

void LocalJob::settle(std::uint64_t iterations) {
  std::int64_t since = -1;
  std::uint64_t seen = 0;
  eventually("the job has iterated " + std::to_string(iterations) + " times", 100, [&] {
    const MembershipView now = view(membership_.lead().address);
    if (!now.outcome.result.empty()) throw std::runtime_error("the job ended: " + now.outcome.reason);
    membership_ = now.membership;
    const json windows =
        body_of("sample", client(membership_.lead().address).Get(paths::kSample)).at("windows");
    for (const json& w : windows) {
      const auto sample = w.get<WindowSample>();
      if (since < 0) since = windows.back().at("index");  // what lies before now is not counted
      if (sample.index <= since || sample.ranks < membership_.ranks()) continue;
      since = sample.index;
      seen += sample.iterations;
    }
    return seen >= iterations;
  });
}

ChangeStatus LocalJob::status(const std::string& id) {
  const json changes =
      body_of("change", client(membership_.lead().address).Get(paths::kChange)).at("changes");
  for (const json& c : changes)
    if (const auto s = c.get<ChangeStatus>(); s.request.id == id) return s;
  throw std::runtime_error("the lead knows nothing of change " + id);
}

ChangeStatus LocalJob::change(int add, const std::vector<std::size_t>& remove) {
  ChangeRequest request;
  request.id = "change-" + std::to_string(++next_change_);
  request.fence = {1};
  request.epoch = membership_.epoch;
  request.deadline_ms = kDeadlineMs;
  for (int i = 0; i < add; ++i) request.add.push_back(start_pod());
  for (const std::size_t position : remove) request.remove.push_back(membership_.members.at(position).uid);
  for (const Member& member : request.add) await_agent(member);
  body_of("change",
          client(membership_.lead().address).Put(paths::kChange, json(request).dump(), "application/json"));

  // A member that stays in any case, and where the lead will be.
  const Membership next = next_membership(membership_, request.add, request.remove);
  ChangeStatus ended;
  eventually("change " + request.id + " has ended", 50, [&] {
    const MembershipView now = view(next.lead().address);
    if (!now.outcome.result.empty()) throw std::runtime_error("the job ended: " + now.outcome.reason);
    if (now.state != ChangeState::Stable || now.membership.epoch <= request.epoch) {
      const auto listed = client(membership_.lead().address).Get(paths::kChange);
      if (listed && listed->status == 200)
        for (const json& c : json::parse(listed->body).at("changes"))
          if (c.at("request").at("id") == request.id &&
              (c.at("outcome") == "rolled back" || c.at("outcome") == "failed"))
            throw std::runtime_error("change " + request.id + " " + c.at("outcome").get<std::string>() +
                                     ": " + c.at("reason").get<std::string>());
      return false;
    }
    membership_ = now.membership;
    ended = status(request.id);
    return !ended.outcome.empty();
  });
  for (const std::string& uid : request.remove) end_pod(uid);
  return ended;
}

}  // namespace empi::bench
