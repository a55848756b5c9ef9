// SPDX-License-Identifier: Apache-2.0
// A job that does not have the size asked for says why.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/policy_input.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing_policy::sample_at;
using testing_world::pending;
using testing_world::started;
using testing_world::World;

TEST(StandsStill, AndSaysWhy) {
  World world = started(2);
  world.lead.silent = true;
  world.ask_for(3);
  world.reconcile();
  EXPECT_FALSE(world.status().resize);
  EXPECT_THAT(pending(world),
              HasSubstr("LeadUnreachable: 2 -> 3 workers waits: the lead agent does not answer"));
  world.lead.silent = false;
  world.foreign_change();
  world.reconcile();
  EXPECT_THAT(pending(world), HasSubstr("OtherChange"));
  EXPECT_THAT(pending(world), HasSubstr("foreign-1"));
  world.finish_change();
  world.lead.ending = true;
  world.reconcile();
  EXPECT_THAT(pending(world), HasSubstr("ProgramEnding"));
  world.lead.ending = false;
  world.lead.epoch = 0;
  Observed odd = world.observe();
  odd.runtime.reachable = true;
  world.job.status = decide(odd, world.now).status;
  EXPECT_THAT(pending(world), HasSubstr("MembershipUnknown"));
  world.lead.epoch = 2;
  world.reconcile();
  EXPECT_TRUE(world.status().resize);
  EXPECT_EQ(pending(world), "");
}

// Decision: a size is what PMIx has seen, not what was asked for. A write for each rank that comes up is too
// much.
TEST(Ranks, AreWhatTheLeadHasSeenOnceTheyHaveSettled) {
  World world = started(2);
  const auto look = [&](std::optional<int> ranks, const auto& change) {
    Observed seen = world.observe();
    seen.runtime.ranks = ranks;
    change(seen.runtime);
    const Decision decision = decide(seen, world.now);
    world.job.status = decision.status;
    return decision.status.ranks;
  };
  const auto same = [](RuntimeView&) {};
  const int all = 2 * world.job.spec.slots_per_worker;
  EXPECT_EQ(look(std::nullopt, same), std::nullopt) << "the lead does not say";
  EXPECT_EQ(look(all - 1, same), std::nullopt) << "they are coming up";
  EXPECT_EQ(look(all, same), all);
  world.now += Seconds(20);
  EXPECT_EQ(look(all - 1, [](RuntimeView& lead) { lead.lead_silent = true; }), all) << "another's word";
  EXPECT_EQ(look(all - 1, [](RuntimeView& lead) { --lead.epoch; }), all) << "of other members";
  EXPECT_EQ(look(all - 1, [](RuntimeView& lead) { lead.ending = true; }), all) << "they are going";
  EXPECT_EQ(look(all - 1, same), all - 1);
  EXPECT_EQ(look(all, [](RuntimeView& lead) { lead.program = ProgramState::Succeeded; }), std::nullopt);
}

TEST(Ranks, ThatNeverComeUpAreSaidAfterAWhile) {
  World world = started(2);
  Observed seen = world.observe();
  seen.runtime.ranks = 1;
  const Decision early = decide(seen, world.now);
  EXPECT_EQ(early.status.ranks, std::nullopt);
  world.job.status = early.status;
  world.now += Seconds(10);
  seen = world.observe();
  seen.runtime.ranks = 1;
  EXPECT_EQ(decide(seen, world.now).status.ranks, 1);
}

// On a node under load one look in some hundred goes unanswered: two writes of the status each time would be
// a load of their own.
TEST(Degraded, OnlyOnceTheLeadHasBeenSilentForAWhile) {
  World world = started(2);
  const JobStatus before = world.status();
  world.lead.reachable = false;
  world.lead_problem = "asking for the report at agent 10.0.0.1:7400: 401 wrong token";
  world.reconcile();
  EXPECT_EQ(world.status(), before) << "nothing to write";
  ASSERT_TRUE(world.did<Requeue>());
  world.now += Seconds(5);
  world.lead.reachable = true;
  world.reconcile();
  EXPECT_EQ(world.status(), before);
  world.lead.reachable = false;
  world.reconcile();
  world.now += Seconds(15);
  world.reconcile();
  const Condition degraded = *find_condition(world.status(), "Degraded");
  EXPECT_EQ(degraded.status, "True");
  EXPECT_THAT(degraded.message, HasSubstr("401 wrong token"));
  world.lead_problem = "Connection refused";
  world.reconcile();
  EXPECT_EQ(*find_condition(world.status(), "Degraded"), degraded) << "each other word would be a write";
  world.lead.reachable = true;
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Degraded")->status, "False");
}

// The job itself is well, and a size that somebody asks for is made.
TEST(Degraded, OnceTheSidecarHasBeenSilentForAWhile) {
  World world = started(2);
  world.samples = {sample_at(world.now - Seconds(10), Seconds(10), 2, .25)};
  world.reconcile();
  ASSERT_EQ(world.status().performance->efficiency_percent, 80);
  world.sidecar_problem = "asking for the report at sidecar 10.0.0.1:7401: Connection refused";
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Degraded"), nullptr);
  world.now += Seconds(15);
  world.reconcile();
  const Condition degraded = *find_condition(world.status(), "Degraded");
  EXPECT_EQ(degraded.status, "True");
  EXPECT_EQ(degraded.reason, "SidecarSilent");
  EXPECT_THAT(degraded.message, HasSubstr("Connection refused"));
  EXPECT_EQ(world.status().performance->efficiency_percent, std::nullopt) << "Unknown";
  world.ask_for(3);
  world.reconcile();
  EXPECT_EQ(pending(world), "");
  EXPECT_TRUE(world.status().resize);

  world.lead.reachable = false;
  world.reconcile();
  world.now += Seconds(15);
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Degraded")->reason, "LeadUnreachable") << "which is worse";
  world.lead.reachable = true;
  world.sidecar_problem.clear();
  world.samples.push_back(sample_at(world.now - Seconds(10), Seconds(10), 2, .25));
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Degraded")->status, "False");
  EXPECT_EQ(world.status().performance->efficiency_percent, 80);
}

// A size that was given up is tried again after a while; what hinders that is said then.
TEST(StandsStill, AndSaysWhyAfterABlockIsOver) {
  World world = started(2);
  world.ask_for(3);
  world.reconcile();
  world.end_pod(2, 1, "bad image");
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  world.lead.reachable = false;
  world.now = world.status().blocked->retry_after + Seconds(1);
  world.reconcile();
  EXPECT_THAT(pending(world), HasSubstr("LeadUnreachable"));
}

// While a change drains, the next size is asked for: it begins with the next pass, not with the next look.
TEST(StandsStill, NotAfterAChangeThatHasEnded) {
  World world = started(3);
  world.ask_for(2);
  world.reconcile();
  world.finish_change();
  world.reconcile();
  world.remove_terminating();
  world.ask_for(3);
  world.reconcile();
  ASSERT_EQ(world.status().state, JobState::Running);
  ASSERT_TRUE(world.did<Requeue>());
  EXPECT_LE(world.of_type<Requeue>()[0].after, Millis(1));
  world.reconcile();
  EXPECT_TRUE(world.status().resize);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Grow, ThatTakesLongSaysWhoIsMissing) {
  World world = started(1);
  world.ask_for(2);
  world.reconcile();
  world.pod(1)->message = "Unschedulable: 0/3 nodes are available";
  const auto text = [&] { return find_condition(world.status(), "Resizing")->message; };
  world.reconcile();
  EXPECT_EQ(text(), "1 -> 2 workers") << "a quick one is not worth a write";
  world.now += Seconds(10);
  world.reconcile();
  EXPECT_THAT(text(), HasSubstr("missing: demo-w-1: Unschedulable: 0/3 nodes are available"));
}

// Another member answers in the lead's place and has not heard of the change: that says nothing of it.
TEST(Grow, IsNotGivenUpWhileTheLeadIsSilent) {
  World world = started(1);
  world.ask_for(2);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.lead.silent = true;
  world.now += world.job.spec.resize.prepare_timeout + Seconds(1);
  world.reconcile();
  ASSERT_TRUE(world.status().resize);
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.status().joined_replicas, 2) << "the commit is believed";
  EXPECT_PROMISES_KEPT(world);
}

// One word for a list of jobs; `kubectl describe` has the sentences.
TEST(Reason, IsTheGravestOfWhatHolds) {
  World world = started(2);
  EXPECT_EQ(world.status().reason, "");
  world.lead.silent = true;
  world.ask_for(3);
  world.reconcile();
  EXPECT_EQ(world.status().reason, "ResizePending");
  world.now += Seconds(60);
  world.reconcile();
  EXPECT_EQ(world.status().reason, "Degraded");
  world.lead.silent = false;
  world.reconcile();
  EXPECT_EQ(world.status().reason, "");
  world.cancel_requested = true;
  world.reconcile();
  EXPECT_EQ(world.status().reason, "Cancelled");
  world.reconcile();
  EXPECT_EQ(world.status().reason, "Cancelled");
}

TEST(LeadPod, IsNamedForItsLogs) {
  World world = started(2);
  EXPECT_EQ(world.status().lead_pod, "demo-w-0");
  world.cancel_requested = true;
  world.reconcile();
  EXPECT_EQ(world.status().lead_pod, "demo-w-0") << "of a job that has ended, too";
}

// `kubectl apply` of a smaller maxReplicas, with no size in the manifest: the size that the autoscaler wrote
// is clamped, and that is nobody's foreign write.
TEST(Limits, ThatBecomeNarrowerUnderAutoShrinkTheJob) {
  World world = started(4, "  autoscaling: {mode: Auto, policy: {name: threshold}}\n");
  world.job.spec.worker.max_replicas = 2;
  ++world.job.metadata.generation;
  world.reconcile();
  ASSERT_TRUE(world.status().resize);
  EXPECT_EQ(world.status().resize->to, 2);
  EXPECT_EQ(find_condition(world.status(), "SizeAdjusted")->status, "True");
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.size(), 2);
  const Condition* paused = find_condition(world.status(), "AutoscalingPaused");
  EXPECT_FALSE(paused && paused->status == "True");
}

}  // namespace
}  // namespace emj
