// The agent's small edges: token, output, rank environment, pages, janitor, message delivery.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/agent/janitor.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/agent/rank_environment.hpp"
#include "runtime/agent/rank_pages.hpp"
#include "runtime/agent/sample_ring.hpp"
#include "runtime/agent/token.hpp"

namespace empi::agent {
namespace {

namespace fs = std::filesystem;

class Scratch : public ::testing::Test {
 protected:
  std::string folder;
  void SetUp() override {
    char name[] = "/tmp/empi-edges.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder + "/new") << text;
    fs::rename(folder + "/new", folder + "/" + name);  // as a mounted Secret changes
  }
};

using Token = Scratch;

TEST_F(Token, OnlyTheTokenIsAccepted) {
  write("token", "secret\n");
  TokenFile token(folder + "/token");
  EXPECT_TRUE(token.accepts_header("Bearer secret"));
  for (const char* wrong :
       {"", "secret", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "Basic secret"})
    EXPECT_FALSE(token.accepts_header(wrong)) << wrong;
}

TEST_F(Token, RotationAcceptsTheCurrentAndThePreviousToken) {
  write("token", "one\n");
  TokenFile token(folder + "/token");
  write("token", "two\n");
  EXPECT_TRUE(token.accepts("two"));
  EXPECT_TRUE(token.accepts("one"));
  EXPECT_EQ(token.current(), "two");
  write("token", "three\n");
  EXPECT_TRUE(token.accepts("two"));
  EXPECT_FALSE(token.accepts("one"));
}

TEST_F(Token, MissingOrEmptyFilesAreRefused) {
  EXPECT_THROW(TokenFile(folder + "/none"), std::runtime_error);
  write("token", "\n");
  EXPECT_THROW(TokenFile(folder + "/token"), std::runtime_error);
}

TEST(LineSplitterTest, CutsLinesAndKeepsTheRest) {
  LineSplitter lines;
  EXPECT_EQ(lines.feed("a\nb"), std::vector<std::string>{"a"});
  EXPECT_EQ(lines.feed("c\n\nd"), (std::vector<std::string>{"bc", ""}));
  EXPECT_EQ(lines.rest(), "d");
  EXPECT_EQ(lines.rest(), "");
  const auto cut = lines.feed(std::string(200'000, 'x'));
  EXPECT_EQ(cut.size(), 3u);
}

TEST(RepeatsTest, AFloodOfTheSameLinesIsCounted) {
  Repeats repeats;
  std::vector<std::string> flood = {"start"};
  for (int i = 0; i < 500; ++i) flood.insert(flood.end(), {"error 77", ""});
  std::vector<std::string> kept = repeats.thin(flood);
  EXPECT_EQ(kept.size(), 103u) << "start, the two lines, a hundred times again";
  kept = repeats.thin({"", "error 77", "end"});
  EXPECT_EQ(kept, (std::vector<std::string>{"(900 more lines like these)", "end"}));
  EXPECT_TRUE(repeats.rest().empty());
  repeats.thin(std::vector<std::string>(201, "again"));
  EXPECT_EQ(repeats.rest(), std::vector<std::string>{"(100 more lines like these)"});
}

TEST(OutputTest, KeepsTheLastLinesOfARank) {
  const ProcId proc{"n", 4};
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Output output(true, "pod");
  output.add(proc, ends[0], 1);
  for (int i = 0; i < 50; ++i) dprintf(ends[1], "line %d\n", i);
  dprintf(ends[1], "unfinished");
  close(ends[1]);
  output.drain(proc, std::chrono::seconds(10));
  const auto tail = output.tail(proc);
  ASSERT_EQ(tail.size(), 20u);
  EXPECT_EQ(tail.front(), "line 31");
  EXPECT_EQ(tail.back(), "unfinished");
}

std::string value(const std::vector<std::string>& env, const std::string& name) {
  for (const std::string& entry : env)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return "(none)";
}

TEST(RankEnvironment, RigidRanksPayForNoMalleability) {
  Options options;
  options.malleable = false;
  const auto env = rank_environment(options, {.library = "/x/libelastic_mpi.so"}, {"A=b"}, {"PMIX_RANK=3"});
  EXPECT_EQ(value(env, "OMPI_MCA_mpi_ft_enable"), "(none)");
  EXPECT_EQ(value(env, "OMPI_MCA_coll"), "(none)");
  EXPECT_EQ(value(env, "OMPI_MCA_async_mpi_finalize"), "(none)");
  EXPECT_EQ(value(env, "LD_PRELOAD"), "/x/libelastic_mpi.so");
  EXPECT_EQ(value(env, "PMIX_RANK"), "3");
  EXPECT_EQ(value(env, "A"), "b");
}

TEST(RankEnvironment, MalleableRanksGetWhatAChangeNeedsAndCannotLoseIt) {
  Options options;
  options.malleable = true;
  options.interface = "lo";
  const auto env = rank_environment(options, {.library = "/x/libelastic_mpi.so"},
                                    {"OMPI_MCA_coll=han", "OMPI_MCA_btl=self,tcp", "PMIX_NAMESPACE=agent",
                                     "PMIX_MCA_gds=hash", "EMPI_TOKEN_FILE=/secret", "LD_LIBRARY_PATH=/y"},
                                    {});
  EXPECT_EQ(value(env, "OMPI_MCA_mpi_ft_enable"), "1");
  EXPECT_EQ(value(env, "OMPI_MCA_async_mpi_finalize"), "1");
  EXPECT_EQ(value(env, "OMPI_MCA_coll"), "^han");
  EXPECT_EQ(value(env, "OMPI_MCA_btl"), "self,tcp") << "the pod's own choice";
  EXPECT_EQ(value(env, "OMPI_MCA_if_base_retain_loopback"), "1");
  EXPECT_EQ(value(env, "PMIX_NAMESPACE"), "(none)") << "the agent's own connection";
  EXPECT_EQ(value(env, "PMIX_MCA_gds"), "hash");
  EXPECT_EQ(value(env, "EMPI_TOKEN_FILE"), "(none)") << "ranks are not told where the token is";
  EXPECT_EQ(value(env, "LD_LIBRARY_PATH"), "/x:/y");
  EXPECT_EQ(value(env, "LD_PRELOAD"), "(none)");
}

using Pages = Scratch;

TEST_F(Pages, AnIterationIsArmedOnlyWhenNobodyIsPastIt) {
  RankPages pages(folder);
  const std::vector<ProcId> procs = {{"n", 0}, {"n", 1}};
  for (const ProcId& p : procs) pages.create(p);
  pages.find(procs[0])->rank_state.probes = 10;
  pages.find(procs[1])->rank_state.probes = 12;
  EXPECT_EQ(pages.highest_probe(procs), 12u);
  EXPECT_FALSE(pages.arm(procs, 12));
  for (const ProcId& p : procs) EXPECT_EQ(pages.find(p)->control.armed.load(), 0u) << "nobody stays armed";
  EXPECT_TRUE(pages.arm(procs, 13));
  for (const ProcId& p : procs) EXPECT_EQ(pages.find(p)->control.armed.load(), arm_word(13, ArmState::Armed));
}

TEST_F(Pages, ARankThatWaitsAtTheIterationIsInTime) {
  RankPages pages(folder);
  const ProcId proc{"n", 0};
  pages.create(proc);
  pages.find(proc)->rank_state.probes = 13;
  pages.find(proc)->rank_state.phase = RankPhase::WaitingAtIteration;
  EXPECT_TRUE(pages.arm({proc}, 13));
  pages.remove(proc);
  EXPECT_FALSE(fs::exists(pages.path(proc)));
}

using JanitorTest = Scratch;

TEST_F(JanitorTest, CleansUpAfterAnAgentThatWasKilled) {
  const std::string victim = folder + "/shm";
  fs::create_directory(victim);
  std::ofstream(victim + "/sm_segment.0") << "x";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    Janitor janitor({victim});
    const pid_t rank = fork();
    if (rank == 0) {  // what a rank has started: it outlives the rank
      setpgid(0, 0);
      execlp("sleep", "sleep", "infinity", nullptr);  // like a rank: what the agent has open is not passed on
      _exit(127);
    }
    setpgid(rank, rank);
    janitor.group_started(rank);
    if (::write(ready[1], &rank, sizeof rank) < 0) _exit(1);
    for (;;) pause();
  }
  pid_t rank = 0;
  ASSERT_EQ(read(ready[0], &rank, sizeof rank), static_cast<ssize_t>(sizeof rank));
  kill(agent, SIGKILL);
  waitpid(agent, nullptr, 0);
  const auto state = [&] {
    std::ifstream file("/proc/" + std::to_string(rank) + "/stat");
    std::string text;
    std::getline(file, text);  // nothing when it goes between open and read; an iterator would throw
    const auto at = text.rfind(')');
    return at == text.npos ? 'Z' : text[at + 2];
  };
  for (int i = 0; i < 1000 && (fs::exists(victim) || state() != 'Z'); ++i) usleep(10'000);
  EXPECT_FALSE(fs::exists(victim));
  EXPECT_EQ(state(), 'Z') << "gone, or waiting to be reaped by init";
  close(ready[0]);
  close(ready[1]);
}

TEST(InboxTest, RepeatedBatchesAreDropped) {
  Inbox inbox;
  EXPECT_TRUE(inbox.accept("a", "s", 1));
  EXPECT_FALSE(inbox.accept("a", "s", 1));
  EXPECT_TRUE(inbox.accept("a", "s", 2));
  EXPECT_TRUE(inbox.accept("a", "other session", 1));
  EXPECT_TRUE(inbox.accept("b", "s", 1));
}

TEST(SampleRingTest, MergesPodsByWindowAndForgetsTheOldest) {
  SampleRing ring;
  for (int i = 0; i < 600; ++i) {
    WindowSample s;
    s.index = i;
    s.width_s = 1;
    s.ranks = 2;
    s.pods = 1;
    ring.add(s);
    ring.add(s);
  }
  const auto windows = ring.since(-1);
  EXPECT_EQ(windows.size(), 512u);
  EXPECT_EQ(windows.back().ranks, 4);
  EXPECT_EQ(windows.back().pods, 2);
  EXPECT_EQ(ring.since(598).size(), 1u);
}

}  // namespace
}  // namespace empi::agent
