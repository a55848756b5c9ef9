// SPDX-License-Identifier: Apache-2.0
// Programs in miniature: what their ranks do between commit and probes, and whose first probe is whose.
#include "runtime/protocol/probe_marks.hpp"

#include <gtest/gtest.h>

#include "runtime/protocol/agent_messages.hpp"

namespace empi {
namespace {

// Between commit and probe: c a collective call over the whole world, p any other communication, m a call of
// MPI that does not communicate, P a probe.
ProbeMark run(std::uint32_t rank, bool joined, const std::string& does) {
  ProbeMark mark{.rank = {"job", rank}, .joined = joined};
  std::uint64_t collectives = 0, calls = 0;
  bool communicated = false;
  for (const char what : does) {
    calls += what != 'P';
    if (what == 'P' && mark.probes < 2)
      (mark.probes == 0 ? mark.calls_at_first : mark.calls_at_second) = calls;
    if (what == 'c') {
      ++collectives;
      communicated = false;
    } else if (what == 'p') {
      communicated = true;
    } else if (what == 'm') {
      continue;
    } else if (++mark.probes == 1) {
      mark.first = collectives;
      mark.communicated = communicated;
    } else if (!mark.grown_at && collectives > mark.first) {
      mark.grown_at = mark.probes;
      mark.grown = collectives;
    }
  }
  if (mark.communicated || mark.grown_at) mark.calls_at_first = mark.calls_at_second = 0;
  return mark;
}

ProbeMatch match(const std::string& stayer, const std::string& joiner) {
  return agree_on_probes({run(0, false, stayer), run(1, true, joiner)}).match;
}

TEST(ProbeMarks, AJoinerOfALoopThatProbesAtTheEndIsLevel) {
  EXPECT_EQ(match("cPcP", "cPcP"), ProbeMatch::Counts);
  EXPECT_EQ(match("pcpPpcpP", "pcpPpcpP"), ProbeMatch::Counts);
  EXPECT_EQ(match("ccPccPcc", "ccPccP"), ProbeMatch::Counts) << "one is a little ahead";
}

TEST(ProbeMarks, AJoinerOfALoopThatProbesAtTheTopHasOneProbeMore) {
  EXPECT_EQ(match("cPcP", "PcPcP"), ProbeMatch::Precedes);
  EXPECT_EQ(match("ccpPccpP", "PccpPccp"), ProbeMatch::Precedes);
}

TEST(ProbeMarks, ABroadcastAfterTheCommitChangesNothing) {
  EXPECT_EQ(match("ccPcP", "ccPcP"), ProbeMatch::Counts);
  EXPECT_EQ(match("ccPcPcP", "cPcPcP"), ProbeMatch::Precedes);
  EXPECT_EQ(match("cpPpPpP", "cpPpPpP"), ProbeMatch::Counts) << "the iterations have no collective calls";
  EXPECT_EQ(match("cpPpPpP", "cPpPpP"), ProbeMatch::Precedes);
}

TEST(ProbeMarks, PointToPointTellsWhenThreeProbesSawNoCollectiveCall) {
  EXPECT_EQ(match("pPpPpP", "pPpPpP"), ProbeMatch::Counts);
  EXPECT_EQ(match("pPpPpP", "PpPpP"), ProbeMatch::Precedes);
  EXPECT_EQ(match("pPpP", "pPpP"), ProbeMatch::Unknown);
}

TEST(ProbeMarks, CollectiveCallsInSomeIterationsOnlyAreWaitedFor) {
  EXPECT_EQ(match("PPPcPP", "PPPcPP"), ProbeMatch::Counts);
  EXPECT_EQ(match("PPPcPP", "PPPPcPP"), ProbeMatch::Precedes);
  EXPECT_EQ(match("PPPcP", "PPPP"), ProbeMatch::Unknown);
  EXPECT_EQ(match("cPPcP", "cPPcP"), ProbeMatch::Counts);
  EXPECT_EQ(match("cPPcP", "cPPPcP"), ProbeMatch::Precedes);
  // Stronger than the other: in its first iteration the joiner had nothing to send.
  EXPECT_EQ(match("cpPcpP", "cPcpP"), ProbeMatch::Counts);
}

TEST(ProbeMarks, RanksThatNeverCommunicateAreToldByTheirOtherCalls) {
  EXPECT_EQ(match("mmmPmmPmmP", "mmmPmmPmmP"), ProbeMatch::Counts);
  EXPECT_EQ(match("mmmPmmPmmP", "mPmmPmmP"), ProbeMatch::Precedes);
  EXPECT_EQ(match("mmmPmmPmmP", "mmPmmPmmP"), ProbeMatch::Doubtful) << "neither here nor there";
  EXPECT_EQ(match("mPPP", "mPPP"), ProbeMatch::Doubtful);
  EXPECT_EQ(
      agree_on_probes({run(0, false, "mPmPmP"), run(1, false, "mmPmmPmmP"), run(2, true, "mPmPmP")}).match,
      ProbeMatch::Doubtful)
      << "those who stayed do not agree on it";
}

TEST(ProbeMarks, WhatCannotBeToldIsNotGuessed) {
  const auto silent = agree_on_probes({run(0, false, "PPPPPPP"), run(1, true, "PPPPPPP")});
  EXPECT_EQ(silent.match, ProbeMatch::Doubtful);
  EXPECT_NE(silent.why.find("MPIX_Probe_adapt_aligned"), std::string::npos) << silent.why;
  ProbeMark joiner = run(1, true, "PPP");
  joiner.aligned = true;
  EXPECT_EQ(agree_on_probes({run(0, false, "PPP"), joiner}).match, ProbeMatch::Counts);
}

TEST(ProbeMarks, RanksThatProbeAtOtherPlacesDoNotMatch) {
  EXPECT_EQ(match("cccPcccP", "cPcccP"), ProbeMatch::Mismatch)
      << "every third iteration, by a counter of its own";
  EXPECT_EQ(match("cPcP", "ccPcP"), ProbeMatch::Mismatch);
  EXPECT_EQ(match("cPccP", "cPcPcP"), ProbeMatch::Mismatch);
  const auto stayers = agree_on_probes({run(0, false, "cP"), run(1, false, "ccP")});
  EXPECT_EQ(stayers.match, ProbeMatch::Mismatch);
  EXPECT_NE(stayers.why.find("rank job/1 made 2 collective calls"), std::string::npos) << stayers.why;
}

TEST(ProbeMarks, NothingIsSaidBeforeAllHaveProbedOnce) {
  const auto early = agree_on_probes({run(0, false, "cP"), run(1, false, "c")});
  EXPECT_EQ(early.match, ProbeMatch::Doubtful);
  EXPECT_EQ(early.why.find("rank job/1 has not called MPI_Probe_adapt since the last change, others have"),
            0u);
  EXPECT_EQ(agree_on_probes({run(0, false, "c")}).match, ProbeMatch::Unknown);
  EXPECT_EQ(agree_on_probes({run(0, false, "cP"), run(1, false, "cP")}).match, ProbeMatch::Counts);
  EXPECT_EQ(agree_on_probes({run(0, true, "P"), run(1, true, "P")}).match, ProbeMatch::Counts)
      << "all have come by the same change";
}

TEST(ProbeMarks, EqualOnesAreSentOnceAndReadBack) {
  std::vector<ProbeMark> marks;
  for (std::uint32_t rank = 0; rank < 8; ++rank)
    add_mark(marks, run(rank, false, rank == 5 ? "cPcP" : "cPcPP"));
  add_mark(marks, run(8, true, "PcP"));
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].rank.rank, 5u) << "the one with the fewest probes";
  const Message sent = StepDone{"c1", 1, {true, 4, "", marks}};
  const auto back = std::get<StepDone>(decode_message(encode(sent))).answer.marks;
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].rank, marks[1].rank);
  EXPECT_EQ(back[1].joined, true);
  EXPECT_EQ(back[0].grown, 2u);
  EXPECT_EQ(agree_on_probes(back).match, ProbeMatch::Precedes);
}

}  // namespace
}  // namespace empi
