// SPDX-License-Identifier: Apache-2.0
// A controller over a cluster and a runtime that live in memory.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "operator/controller/controller.hpp"

namespace emj::testing {

struct MemoryCluster : Cluster {
  std::optional<JobRecord> read_job(const JobKey&) override { return record; }
  Outcome write_status(const ElasticMPIJob& read, const JobStatus& status) override {
    if (read.metadata.uid != record->job.metadata.uid) return {Outcome::Kind::Conflict, "another job"};
    calls.push_back("status");
    if (fail_status) return {Outcome::Kind::Conflict, "somebody else wrote"};
    if (refuse_status) return Outcome::refused("status: Invalid value");
    record->job.status = status;
    return Outcome::done();
  }
  Outcome tell_unreadable(const JobRecord& told) override {
    calls.push_back("unreadable " + told.unreadable);
    return Outcome::done();
  }
  Outcome renew_token(const ElasticMPIJob&) override {
    calls.push_back("renew token");
    return Outcome::done();
  }
  Outcome keep_children(const ElasticMPIJob&) override {
    ++children_kept;
    return Outcome::done();
  }
  Outcome write_scale(const ElasticMPIJob&, int replicas) override {
    calls.push_back("scale " + std::to_string(replicas));
    if (!scale_outcome.ok()) return scale_outcome;
    record->job.spec.worker.replicas = replicas;
    ++record->job.metadata.generation;
    return Outcome::done();
  }
  Outcome clear_resume(const JobKey&) override {
    record->resume_autoscaling = false;
    return Outcome::done();
  }
  std::vector<PodView> list_pods(const JobKey&) override {
    if (!defect_in_reading.empty()) throw std::runtime_error(defect_in_reading);
    return pods;
  }
  Outcome create_pod(const ElasticMPIJob&, const nlohmann::json& pod) override {
    if (!defect_in_writing.empty()) throw std::runtime_error(defect_in_writing);
    if (!refusal.empty()) return Outcome::refused(refusal);
    if (!quota.empty()) return {Outcome::Kind::Denied, quota};
    if (!ending.empty()) return {Outcome::Kind::Ending, ending};
    if (!conflict.empty()) return {Outcome::Kind::Conflict, conflict};
    PodView view;
    view.name = pod.at("metadata").at("name");
    view.index = *worker_index("demo", view.name);
    view.uid = "uid-" + std::to_string(view.index);
    view.ip = "10.0.0." + std::to_string(view.index + 1);
    view.phase = PodPhase::Running;
    view.runtime_image = pod.at("spec").at("initContainers")[0].at("image");
    calls.push_back("create " + view.name);
    made.push_back(pod);
    pods.push_back(view);
    return Outcome::done();
  }
  Outcome delete_pod(const JobKey&, const DeletePod& pod) override {
    calls.push_back("delete " + pod.name);
    std::erase_if(pods, [&](const PodView& view) { return view.uid == pod.uid; });
    return Outcome::done();
  }
  Outcome delete_job(const JobKey&, const std::string& uid) override {
    calls.push_back("delete job " + uid);
    record.reset();
    return Outcome::done();
  }
  void record_event(const JobKey&, const RecordEvent& event) override { events.push_back(event.reason); }

  std::optional<JobRecord> record;
  std::vector<PodView> pods;
  std::vector<std::string> calls, events;
  std::vector<nlohmann::json> made;  // pods, as they were to be
  int children_kept = 0;
  std::string refusal, quota, conflict, ending;
  Outcome scale_outcome;
  std::string defect_in_reading, defect_in_writing;
  bool fail_status = false, refuse_status = false;
};

struct MemoryRuntime : Runtime {
  bool prepared(const ElasticMPIJob&, const std::vector<PodView>&) override { return has_answer; }
  RuntimeView observe(const ElasticMPIJob&, const std::vector<PodView>&) override { return view; }
  std::set<std::string> answering(const ElasticMPIJob&, const std::vector<PodView>& newcomers) override {
    std::set<std::string> answering;
    for (const PodView& pod : newcomers) {
      asked.push_back(pod.name);
      if (!up.contains(pod.uid)) break;
      answering.insert(pod.uid);
    }
    return answering;
  }
  std::vector<Sample> samples(const ElasticMPIJob&) override { return {}; }
  Outcome start(const ElasticMPIJob&, const StartJob& start) override {
    ++starts;
    view.reachable = true;
    view.epoch = 1;
    view.fence = start.fence;
    view.program = ProgramState::Running;
    view.lead_uid = start.lead_uid;
    for (const MemberAddress& member : start.members) view.members.push_back(member.uid);
    return Outcome::done();
  }
  Outcome name_lead(const ElasticMPIJob&, const NameLead& lead) override {
    named.push_back(lead);
    return Outcome::done();
  }
  Outcome change(const ElasticMPIJob&, const SendChange& change) override {
    changes.push_back(change);
    return change_outcome;
  }
  Outcome cancel(const ElasticMPIJob&, const CancelChange&) override { return Outcome::done(); }
  Outcome give_notice(const ElasticMPIJob&, const GiveNotice& notice) override {
    notices.push_back(notice);
    return Outcome::done();
  }
  Outcome stop(const ElasticMPIJob& job, const StopJob& stop) override {
    ++stops;
    told_pods = stop.pods;
    told.push_back(job.status);
    return stop_outcome;
  }
  void forget(const JobKey&) override {}

  RuntimeView view;
  bool has_answer = true;
  int starts = 0, stops = 0;
  std::vector<MemberAddress> told_pods;  // the last time to stop
  std::vector<JobStatus> told;           // of the job, each time that it was told to stop
  std::vector<SendChange> changes;
  std::vector<NameLead> named;
  std::vector<GiveNotice> notices;
  std::set<std::string> up;  // uids of pods whose agents answer
  std::vector<std::string> asked;
  Outcome change_outcome, stop_outcome = Outcome::retry("the lead is not known yet");
};

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    ElasticMPIJob job;
    job.metadata.name = "demo";
    job.metadata.uid = "job-uid";
    job.spec.worker.replicas = 2;
    job.spec.worker.max_replicas = 4;
    job.spec.worker.pod.command = {"program"};
    job.spec.worker.pod.document =
        R"({"spec": {"containers": [{"name": "worker", "command": ["program"]}]}})";
    cluster.record = JobRecord{job};
  }
  ReconcileResult pass() {
    time += Seconds(1);
    return controller.reconcile(key);
  }
  void make_pods_ready() {
    for (PodView& pod : cluster.pods) pod.ready = true;
  }
  void start() {
    pass();
    make_pods_ready();
    pass();
    pass();
    ASSERT_EQ(cluster.record->job.status.state, JobState::Running);
  }

  Time time{Seconds(1'000'000)};
  MemoryCluster cluster;
  MemoryRuntime runtime;
  std::vector<std::string> log;
  JobKey key{"default", "demo"};
  Controller controller{
      cluster,
      runtime,
      [this] { return time; },
      [this](const JobKey& job, const std::string& line) { log.push_back(job.name + ": " + line); },
      {}};
};

}  // namespace emj::testing
