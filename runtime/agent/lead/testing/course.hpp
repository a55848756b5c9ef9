// SPDX-License-Identifier: Apache-2.0
// The course of one simulated history: its world, its program, and what its parts (controller, faults,
// judge) have to know of one another.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/coverage.hpp"
#include "runtime/agent/lead/testing/program.hpp"

namespace empi::agent::histories {

enum class Job {
  Any,
  Recoverable,  // a loop that goes on from copies of its data
  Votes,        // such a loop, of which ranks are lost while they vote on a change
  Mirrored,     // a master-worker program whose rank with the queue is killed
};

struct Course {
  Course(std::uint64_t seed, Coverage& met, Job job);

  SimulatedPod& make_pod();
  // The one that leads, as a controller finds it.
  SimulatedPod* lead();
  // The one that leads still, and leaves by the change in hand.
  SimulatedPod* leaving_lead();
  SimulatedPod* any_pod();
  void pod_dies(SimulatedPod& pod);
  void finish();  // the program comes to its end

  World world;
  const Job job;
  const bool tasks, recoverable;
  Program program;
  Coverage& coverage;
  Fence fence{1};
  std::vector<std::string> tokens = {"key-0"};
  int next_pod = 0;
  bool quiet = false;                    // no more faults and changes
  bool may_fail = false, fails = false;  // a fault ends the job; a rank returns 7
  std::set<std::string> excused;         // pods that may be called lost
  // Leads before the last, which have not heard that they are relieved before the job was over and their
  // successors gone: what they say of it is nobody's business.
  std::set<std::string> left_behind;
};

ChangeState state_of(const SimulatedPod& pod);
std::string change_of(const SimulatedPod& pod);  // in hand; "" where there is none

// Asks for changes, cancels some, deletes what has no place any more; and what the program's ranks say to one
// another meanwhile.
class Controller {
 public:
  explicit Controller(Course& course) : course_(course) {}
  void begin();

 private:
  void look();
  void delete_pod(SimulatedPod& pod);
  void request_change(SimulatedPod& pod, const Membership& now);
  void chat(const Membership& now);

  void name_lead();
  void tell_lead_who_is_lost(SimulatedPod& lead);
  bool named_lead_has_failed() const;

  Course& course_;
  int next_change_ = 1;
  std::set<std::string> deleted_;
  Time lead_answered_{};
  std::set<std::string> given_up_;  // leads; for good
  std::string named_;               // the last one
};

class Faults {
 public:
  explicit Faults(Course& course) : course_(course) {}
  void one();  // whichever

 private:
  void cut();
  void refuse();
  void long_stall();
  void stall(SimulatedPod& pod, Ms time);
  void rotate_key();
  void change_controller();
  void lose_in(ChangeState state);
  void hunt(ChangeState state, int tries, std::function<void(SimulatedPod&)> what);
  void hunt_leaving_lead(int tries);
  void end_program();
  void lose_joiner(SimulatedPod& lead);
  void lose_leaver(SimulatedPod& lead);
  void lose_member();
  void lose_lead(int tries);
  bool queue_may_be_lost(const Lead& known) const;
  bool queue_stays(const SimulatedPod& lead) const;
  bool is_borne() const;
  void lose_queue(int tries);

  Course& course_;
  int next_key_ = 1;
};

// What must hold.
class Judge {
 public:
  explicit Judge(Course& course) : course_(course) {}
  void watch();                                // from now on
  void expect_guilt(const SimulatedPod& pod);  // of those that its outcome names
  void expect_rest();                          // nothing has happened for a while
  void expect_end();

 private:
  void excuse_unreached(const SimulatedPod& pod);
  void excuse_untold(const SimulatedPod& former);

  Course& course_;
};

}  // namespace empi::agent::histories
