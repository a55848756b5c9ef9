// SPDX-License-Identifier: Apache-2.0
// Test fixture: pods as agent processes on this machine's loopback interface, each with a run directory and a
// port of its own. Names differ, so that Open MPI sees different hosts. A minimal controller is included.
//
//   LocalPods pods;                                   // gtest: inside of a test
//   pods.command = {"./worker"};
//   std::vector<Member> members = pods.launch(3);     // three agents with two slots each
//   pods.start(members);
//   ChangeStatus s = pods.change({.add = pods.launch(1), .remove = {members[0].uid}});
//   EXPECT_EQ(pods.wait_for_end(members[1].uid), 0);
//
// Every wait is bounded; when one runs out the logs are printed and the wait throws. Whatever still runs is
// killed at the end, by process id.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"
#include "runtime/protocol/start.hpp"

namespace empi::testing {

struct HttpAnswer {
  int status = 0;  // 0: no connection
  std::string body;
};

struct WantedChange {
  std::vector<Member> add = {};
  std::vector<std::string> remove = {};
  std::chrono::milliseconds deadline{60'000};
};

class LocalPods {
 public:
  // `agent`: path of elastic-mpi-agent; default: $EMPI_TEST_AGENT, or beside the test's executable.
  explicit LocalPods(std::string agent = "");
  ~LocalPods();
  LocalPods(const LocalPods&) = delete;
  LocalPods& operator=(const LocalPods&) = delete;

  // Set before launch().
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // added to the agents' (and so the ranks') environment
  std::vector<std::string> nodes;  // that the pods are on, in the order of their launch; empty: nobody says
  std::string mode = "malleable";
  std::string job =
      "job";  // names the shared memory of rigid ranks, too: those of two jobs at once need two names
  int slots = 2;
  std::chrono::seconds leaver_grace = kLeaverGrace;
  ProbeMode probe = ProbeMode::All;
  bool recover = true;                 // a program that can goes on without members that are lost
  std::vector<std::string> wrapper;    // put before the agent's command line, for example valgrind
  std::chrono::seconds patience{180};  // for whole runs, on a machine that others use

  // Starts agents and waits until they can be started.
  std::vector<Member> launch(int pods);
  // The description of a pod that is never going to come.
  Member missing_pod();

  // The controller's verbs. They choose ids, epoch and fence themselves and expect to succeed.
  void start(const std::vector<Member>& members);
  std::string request_change(const WantedChange& wanted);  // -> id of the change
  // Nothing when the job has ended and its agents with it.
  std::optional<ChangeStatus> wait_for_change_or_end(const std::string& id);
  ChangeStatus wait_for_change(const std::string& id);                    // until it has ended
  ChangeStatus wait_for_state(const std::string& id, ChangeState state);  // until it is there or past it
  ChangeStatus change(const WantedChange& wanted);  // both; then the released pods' agents have gone
  // Of members that are lost, to the lead, or to the first of the others, which leads from now on.
  void say_lost(const std::vector<std::string>& uids);
  std::optional<MembershipView> find_membership();  // if a member tells it now
  MembershipView membership();                      // of the lead
  std::vector<WindowSample> samples();
  Member lead();

  // Raw access, for refusals.
  HttpAnswer call(const std::string& method, const Member& pod, const std::string& path,
                  const std::string& body = "", const std::optional<std::string>& token = {},
                  const std::string& content_type = "application/json");
  const std::string& token() const { return token_; }  // of the job
  Fence fence{1};

  // Exit code of a pod's agent (128 + signal when killed by one); waits for it.
  int wait_for_end(const std::string& uid);
  bool running(const std::string& uid);
  void signal(const std::string& uid, int signal);
  // Process ids of the ranks of a pod that are there now.
  std::vector<pid_t> ranks(const std::string& uid);
  pid_t agent_pid(const std::string& uid);

  std::string log(const std::string& uid);  // what agent and ranks have printed
  std::string all_logs();
  // The logs of pods whose agent was built with a sanitizer and reported something; "" when all is well.
  std::string sanitizer_reports();
  std::string run_dir(const std::string& uid) const;
  std::string termination_log(const std::string& uid) const;
  // Waits until `done` holds; throws with `what` and all logs when it never does.
  void wait_until(const std::string& what, const std::function<bool()>& done);

 private:
  struct Pod {
    Member member;
    std::size_t number = 0;
    pid_t pid = -1;
    std::optional<int> exit_code;
    std::string folder;
  };
  void start_process(Pod& pod);
  bool poll_exit(Pod& pod);
  std::string where_agents_wait();
  std::string where_ranks_wait();
  std::optional<ChangeStatus> find_change(const std::string& id);
  Pod& pod(const std::string& uid);
  std::string new_uid(const std::string& number) const;

  const std::string agent_;
  std::string folder_, token_;
  std::vector<Pod> pods_;
  std::vector<std::string> members_;  // uids in the job, as far as we know; the lead first
  int next_pod_ = 0, next_change_ = 0;
};

}  // namespace empi::testing
