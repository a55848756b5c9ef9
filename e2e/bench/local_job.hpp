// A job on this machine for benchmarks: one agent process per pod on the loopback interface, driven over
// HTTP as the operator drives it. Every step waits a bounded time and throws std::runtime_error after it.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/start.hpp"
#include "runtime/sidecar/testing/process.hpp"

namespace empi::bench {

class LocalJob {
 public:
  // Starts `pods` pods of `slots` ranks each, and waits until all ranks iterate.
  LocalJob(std::vector<std::string> command, int pods, int slots, double slowdown);
  LocalJob(const LocalJob&) = delete;
  ~LocalJob();  // stops the job and its processes, removes its folder

  // One change to its end (also of the draining). `add` new pods join; the pods at these positions leave.
  ChangeStatus change(int add, const std::vector<std::size_t>& remove);
  // Waits until this many more iterations were measured, so that the next change has a baseline.
  void settle(std::uint64_t iterations);
  // The change as it is known now: what it cost the ranks is reported some iterations after its end.
  ChangeStatus status(const std::string& id);
  const Membership& membership() const { return membership_; }

 private:
  struct Pod {
    Member member;
    std::unique_ptr<sidecar::testing::Process> agent;
  };
  Member start_pod();
  void await_agent(const Member& member);
  MembershipView view(const std::string& address);
  void end_pod(const std::string& uid);

  std::vector<std::string> command_;
  int slots_;
  double slowdown_;
  std::filesystem::path folder_;
  std::map<std::string, Pod> pods_;  // by uid
  Membership membership_;
  int next_pod_ = 0, next_change_ = 0;
};

}  // namespace empi::bench
