// SPDX-License-Identifier: Apache-2.0
// A model of a cluster and of the runtime for one job's decide(), in simulations and in tests: pods that come
// up, end and vanish when its owner says so, a lead that keeps the rules of the change transaction, and a
// clock that only its owner moves. Every action of decide() is checked against what the model knows to be
// true.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "operator/decide/decide.hpp"

namespace emj::simulate {

struct Lead {
  bool reachable = true;
  bool silent = false;  // another member answers in its place
  std::int64_t epoch = 0;
  std::vector<std::string> members;
  std::string change;
  ChangeState state = ChangeState::Preparing;
  std::vector<std::string> add, remove;
  std::optional<EndedChange> ended;
  std::set<std::string> tombstones;
  std::vector<std::string> released;
  ProgramState program = ProgramState::NotStarted;
  std::string message;
  bool ending = false;
  bool survives_loss = false, survives_lead_loss = false;
  std::int64_t fence = 0;
  std::vector<std::string> unheard;  // members that it asks about
  Seconds silence{0};                // of it, for the member that answers
  std::string recovering;
  std::vector<LossView> losses;
  CheckpointStatus checkpoint;
  std::string checkpoint_trouble;
  std::string notice;  // by which a restartable program was told to end
  int exit_code = 0;   // of a program that failed

  bool busy() const { return !change.empty(); }
  bool has(const std::string& uid) const {
    return std::find(members.begin(), members.end(), uid) != members.end();
  }
};

class World {
 public:
  explicit World(ElasticMPIJob of) : job(std::move(of)) {}

  ElasticMPIJob job;
  Time now{Seconds(1'700'000'000)};
  std::vector<PodView> pods;
  Lead lead;
  std::vector<Sample> samples;
  std::optional<QueueGrant> grant;
  std::optional<Seconds> pending_bound;
  Seconds provisioning{0};
  std::int64_t fence = 1;
  bool cancel_requested = false, resume_autoscaling = false, deleted = false;
  std::string invalid_template, scale_problem, lead_problem, sidecar_problem;
  std::size_t quota = SIZE_MAX;     // pods that may exist at a time
  std::size_t room = SIZE_MAX;      // pods that the nodes have room for
  std::vector<Action> actions;      // of the latest reconcile()
  std::vector<RecordEvent> events;  // of all
  std::vector<std::string> broken;  // promises that were not kept
  std::set<std::string> causes;     // of the changes that were sent
  std::string autoscaling;
  std::vector<std::string> log;  // every action done, to understand a failure
  bool keeps_log = true;
  std::int64_t paused_millis = 7, lost_millis = 9;  // that a change is said to have cost

  std::string last_lines(std::size_t count = 40) const;

  const JobStatus& status() const { return job.status; }
  int size() const { return static_cast<int>(lead.members.size()); }

  Observed observe() const;

  // One turn of the controller. `status_written` false: the write failed, so nothing is done.
  // `actions_done`: how many actions succeed before the controller is killed.
  void reconcile(bool status_written = true, std::size_t actions_done = SIZE_MAX);

  // --- what its owner makes happen ------------------------------------------------------------------

  PodView* pod(int index);
  void make_ready(int index);
  bool has_room() const;
  void make_all_ready();  // as far as there is room
  void end_pod(int index, int exit_code, const std::string& message = "");
  void remove_terminating();
  void vanish(int index);
  void ask_for(int replicas);

  // The change in hand goes one state further.
  void advance_change();
  void roll_back_change(const std::string& reason, bool timed_out = false);
  // One that an earlier controller has sent and that the status knows nothing of.
  void foreign_change();
  void finish_change();

  // The program ends by itself on all of its pods.
  void exit_program(int exit_code);

  // Pods come up, changes go through, until nothing moves any more.
  void settle(int turns = 60);

  template <class A>
  std::vector<A> of_type() const {
    std::vector<A> found;
    for (const Action& action : actions)
      if (const A* a = std::get_if<A>(&action)) found.push_back(*a);
    return found;
  }
  template <class A>
  bool did() const {
    return !of_type<A>().empty();
  }
  bool had_event(const std::string& reason) const;

 private:
  void commit_change();
  void end_change(bool committed, const std::string& reason, bool timed_out = false);

  void require(bool kept, const std::string& promise);
  PodView* by_uid(const std::string& uid);

  void check_decision(const Observed& observed, const Decision& decision);

  void apply(const CreatePod& action);
  void apply(const DeletePod& action);
  void apply(const StartJob& action);
  void apply(const StopJob&) { end_program(); }
  void end_program();
  void apply(const NameLead& action);
  void apply(const SendChange& action);
  void apply(const CancelChange& action);
  void apply(const GiveNotice& action);
  void apply(const WriteScale& action) { ask_for(action.replicas); }
  void apply(const DeleteJob& action);
  void apply(const Requeue&) {}
  void apply(const RecordEvent& event) { events.push_back(event); }

  std::set<int> seen_;
  int next_uid_ = 1, next_foreign_ = 1;
  std::optional<Time> silent_since_, unmeasured_since_;
  std::string creation_problem_;  // of the last pod that was to be created
  std::optional<Time> creation_denied_since_;
  bool stopped_ = false, was_replaceable_ = false;
};

}  // namespace emj::simulate
