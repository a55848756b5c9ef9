// SPDX-License-Identifier: Apache-2.0
// Decision R2' at the lead: no iteration is proposed before it is known which probes are the same call.
#include <gtest/gtest.h>

#include "runtime/agent/lead/testing/driver_fixture.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using namespace std::chrono_literals;

// Two pods with a rank each, of which b is to leave. The world is built, the probes are to be read.
class Probes : public DriverFixture {
 protected:
  void SetUp() override {
    old.members = {{"a", "pod-a", "a:1", 1, "", 0}, {"b", "pod-b", "b:1", 1, "", 0}};
    lay_out("job.1", old.members);
    begin({}, {"b"}, {});
    for (const Kind kind : {Kind::Prepare, Kind::Fetch, Kind::Build}) answer(next_step(kind));
    report_all(RankReport::Kind::Built, old_ranks());
    ASSERT_EQ(driver.state(), ChangeState::Ready);
  }
  // What the pages of a and b say.
  void probes_are(ProbeMark a, ProbeMark b) {
    const DriverStep read = next_step(Kind::ReadProbes);
    a.rank = {"job.1", 0};
    b.rank = {"job.1", 1};
    driver.answered(read.number, "a", {.probes = a.probes, .marks = {a}}, now);
    driver.answered(read.number, "b", {.probes = b.probes, .marks = {b}}, now);
  }
  void read_again() {
    EXPECT_TRUE(driver.take_steps().empty()) << "there is nothing to propose yet";
    driver.tick(now += 100ms);
  }
};

TEST_F(Probes, AreReadAgainUntilEveryRankHasProbed) {
  probes_are({.rank = {}, .probes = 5, .first = 1}, {.rank = {}, .probes = 0});
  read_again();
  probes_are({.rank = {}, .probes = 9, .first = 1}, {.rank = {}, .probes = 1, .first = 1});
  EXPECT_FALSE(next_step(Kind::Arm).joiners_precede);
}

TEST_F(Probes, OfAJoinerThatProbesAtTheTopAreOneMore) {
  probes_are({.rank = {}, .probes = 1, .first = 2}, {.rank = {}, .probes = 1, .joined = true});
  read_again();
  probes_are({.rank = {}, .probes = 2, .first = 2, .grown_at = 2, .grown = 4},
             {.rank = {}, .probes = 3, .joined = true, .grown_at = 2, .grown = 2});
  EXPECT_TRUE(next_step(Kind::Arm).joiners_precede);
}

TEST_F(Probes, ThatDoNotMatchRollTheChangeBackAtOnce) {
  probes_are({.rank = {}, .probes = 4, .first = 2}, {.rank = {}, .probes = 4, .first = 3});
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_EQ(driver.status().ended_by, ChangeEvent::ProbesDoNotMatch);
  EXPECT_NE(driver.status().reason.find("at the same places"), std::string::npos) << driver.status().reason;
}

TEST_F(Probes, OfOneRankAloneAreRefusedInWordsAtTheDeadline) {
  probes_are({.rank = {}, .probes = 400, .first = 1}, {.rank = {}, .probes = 0});
  driver.tick(now + 10s);
  EXPECT_EQ(driver.state(), ChangeState::RollingBack);
  EXPECT_EQ(driver.status().ended_by, ChangeEvent::ProbesDoNotMatch);
  EXPECT_NE(driver.status().reason.find("rank job.1/1 has not called MPI_Probe_adapt"), std::string::npos)
      << driver.status().reason;
}

TEST_F(Probes, ThatNobodyHasMadeAreAMatterOfTime) {
  probes_are({.rank = {}, .probes = 0}, {.rank = {}, .probes = 0});
  driver.tick(now + 10s);
  EXPECT_EQ(driver.status().ended_by, ChangeEvent::Deadline);
}

}  // namespace
}  // namespace empi::agent
