// SPDX-License-Identifier: Apache-2.0
// The agent's small edges: token, output, rank environment, pages, janitor, message delivery.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "runtime/agent/janitor.hpp"
#include "runtime/agent/launcher.hpp"
#include "runtime/agent/lead/lead.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/agent/rank_environment.hpp"
#include "runtime/agent/rank_pages.hpp"
#include "runtime/base/token.hpp"
#include "runtime/protocol/names.hpp"

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
  output.add(proc, UniqueFd(ends[0]), 1);
  for (int i = 0; i < 50; ++i) dprintf(ends[1], "line %d\n", i);
  dprintf(ends[1], "unfinished");
  close(ends[1]);
  output.drain(std::chrono::seconds(10));
  const auto tail = output.tail(proc);
  ASSERT_EQ(tail.size(), 40u);
  EXPECT_EQ(tail.front(), "line 11");
  EXPECT_EQ(tail.back(), "unfinished");
}

// Our stdout is a pipe that is full: a reader that has stopped, a disk that has no room.
class FullStdout {
 public:
  FullStdout() : before_(dup(1)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    reading_ = UniqueFd(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string text(4096, 'x');
    while (::write(ends[1], text.data(), text.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], 1);
    close(ends[1]);
  }
  ~FullStdout() {
    if (reader_.joinable()) reader_.join();
  }
  FullStdout(const FullStdout&) = delete;
  FullStdout& operator=(const FullStdout&) = delete;
  void read_on() {
    reader_ = std::thread([this] {
      for (char text[65536]; ::read(reading_.get(), text, sizeof text) > 0;) {
      }
    });
  }
  void restore() {
    dup2(before_.get(), 1);
    before_ = UniqueFd();
  }

 private:
  UniqueFd before_, reading_;
  std::thread reader_;
};

TEST(OutputTest, AReaderWhoHasStoppedHoldsUpTheRanksAndNotTheAgent) {
  const ProcId proc{"n", 0};
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::fflush(stdout);
  FullStdout full;
  auto output = std::make_unique<Output>(true, "pod");
  output->add(proc, UniqueFd(ends[0]), 1);
  dprintf(ends[1], "a line\n");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) output->say(proc, 1, "another\n");
  output->drain(std::chrono::milliseconds(1));
  output->failed(proc);
  output->forget(proc);
  output->tail(proc);
  const auto took = std::chrono::steady_clock::now() - begin;
  full.read_on();
  close(ends[1]);
  output.reset();
  full.restore();
  EXPECT_LT(took, std::chrono::seconds(5)) << "it waits for nobody; the reader above never reads";
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

TEST(RankEnvironment, UcxPatchesNothingWhereNobodyAsksIt) {
  EXPECT_EQ(value(rank_environment({}, {}, {}, {}), "UCX_MEM_EVENTS"), "n");
  EXPECT_EQ(value(rank_environment({}, {}, {}, {}), "UCX_VFS_ENABLE"), "n");
  const auto by_ucx = rank_environment({}, {}, {"OMPI_MCA_pml=ucx"}, {});
  EXPECT_EQ(value(by_ucx, "UCX_MEM_EVENTS"), "(none)") << "it registers memory and has to know what goes";
  EXPECT_EQ(value(rank_environment({}, {}, {"UCX_MEM_EVENTS=y"}, {}), "UCX_MEM_EVENTS"), "y");
}

// A pod waits for a controller's word, and whom it names waits for a word about another pod.
TEST(RankEnvironment, RanksDoNotGiveTheirAgentUpBeforeItEndsThem) {
  for (const double partition : {0.5, 10.0, 60.0}) {
    Options options;
    options.partition_seconds = partition;
    const auto env = rank_environment(options, {}, {"EMPI_WORD_SECONDS=1"}, {});
    EXPECT_GT(std::stod(value(env, names::kWordSeconds)), (1 + 2 * kWaitsForWord) * partition);
  }
  EXPECT_EQ(value(rank_environment({}, {}, {}, {}), names::kWordSeconds),
            std::to_string(names::kDefaultWordSeconds));
}

TEST(RankEnvironment, AnInstalledLibraryHidesNoFolderOfThePrograms) {
  Options options;
  options.malleable = false;
  const std::string library = "/usr/lib/x86_64-linux-gnu/libelastic_mpi.so.0";
  const auto env = rank_environment(options, {.library = library}, {"LD_LIBRARY_PATH=/y"}, {});
  EXPECT_EQ(value(env, "LD_LIBRARY_PATH"), "/y");
  EXPECT_EQ(value(env, "LD_PRELOAD"), library);
  const auto other =
      rank_environment(options, {.library = "/opt/x/lib/libelastic_mpi.so.0"}, {"LD_LIBRARY_PATH=/y"}, {});
  EXPECT_EQ(value(other, "LD_LIBRARY_PATH"), "/opt/x/lib:/y");
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
  EXPECT_EQ(value(env, "OMPI_MCA_coll"), "^han,cuda");
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
  EXPECT_FALSE(pages.arm(procs, 12, false, ProbeMode::All));
  for (const ProcId& p : procs) EXPECT_EQ(pages.find(p)->control.armed.load(), 0u) << "nobody stays armed";
  EXPECT_TRUE(pages.arm(procs, 13, false, ProbeMode::All));
  for (const ProcId& p : procs) EXPECT_EQ(pages.find(p)->control.armed.load(), arm_word(13, ArmState::Armed));
}

TEST_F(Pages, ARankThatWaitsAtTheIterationIsInTime) {
  RankPages pages(folder);
  const ProcId proc{"n", 0};
  pages.create(proc);
  pages.find(proc)->rank_state.probes = 13;
  pages.find(proc)->rank_state.phase = RankPhase::WaitingAtIteration;
  EXPECT_TRUE(pages.arm({proc}, 13, false, ProbeMode::All));
  pages.remove(proc);
  EXPECT_FALSE(fs::exists(pages.path(proc)));
}

TEST_F(Pages, JoinersThatHaveMadeAProbeMoreAreArmedForTheNextOne) {
  RankPages pages(folder);
  const ProcId old{"n", 0}, joined{"n", 1}, joining{"m", 0};
  for (const ProcId& p : {old, joined, joining}) pages.create(p);
  pages.find(joined)->rank_state.joined = true;
  pages.find(joined)->rank_state.probes = 8;
  EXPECT_FALSE(pages.arm({old, joined}, 7, true, ProbeMode::All)) << "it is past its eighth";
  ASSERT_TRUE(pages.arm({old, joined}, 8, true, ProbeMode::All));
  EXPECT_EQ(pages.find(joined)->control.armed.load(), arm_word(9, ArmState::Armed));
  pages.confirm({old, joined, joining}, 8);
  EXPECT_EQ(pages.find(old)->control.armed.load(), arm_word(8, ArmState::Confirmed));
  EXPECT_EQ(pages.find(joined)->control.armed.load(), arm_word(9, ArmState::Confirmed));
  EXPECT_EQ(arm_state(pages.find(joining)->control.armed.load()), ArmState::Confirmed);
  EXPECT_TRUE(pages.arm({old, joined}, 9, false, ProbeMode::All));
  EXPECT_EQ(pages.find(joined)->control.armed.load(), arm_word(9, ArmState::Armed));
}

TEST_F(Pages, WhereTheRootAloneProbesTheOthersAreArmedForTheirNextProbe) {
  RankPages pages(folder);
  const ProcId root{"n", 0}, worker{"n", 1};
  for (const ProcId& p : {root, worker}) pages.create(p);
  pages.find(worker)->world_rank = 1;
  pages.find(root)->rank_state.probes = 40;
  pages.find(worker)->rank_state.probes = 90;
  EXPECT_EQ(pages.probing({root, worker}, ProbeMode::Root), std::vector{root});
  ASSERT_TRUE(pages.arm({root, worker}, 42, false, ProbeMode::Root));
  EXPECT_EQ(pages.find(root)->control.armed.load(), arm_word(42, ArmState::Armed));
  EXPECT_EQ(pages.find(worker)->control.armed.load(), arm_word(kNextProbe, ArmState::Armed));
  pages.confirm({root, worker}, 42);
  EXPECT_EQ(pages.find(worker)->control.armed.load(), arm_word(kNextProbe, ArmState::Confirmed));
  EXPECT_FALSE(pages.arm({root, worker}, 40, false, ProbeMode::Root));
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

TEST_F(JanitorTest, WhoHasNoHandlerForASignalIsKnown) {
  signal(SIGPIPE, SIG_IGN);  // as the agent does
  Janitor janitor({folder});
  Output output(false, "pod");
  Launcher launcher(output, janitor);
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  launcher.launch({"n", 0}, {"sh", "-c", "trap : USR1; while :; do sleep 1; done"}, environment);
  for (int i = 0; i < 1000 && launcher.without_handler(SIGUSR1); ++i) usleep(10'000);
  EXPECT_FALSE(launcher.without_handler(SIGUSR1));
  EXPECT_TRUE(launcher.without_handler(SIGUSR2));
  launcher.launch({"n", 1}, {"sleep", "infinity"}, environment);
  const auto without = launcher.without_handler(SIGUSR1);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->rank, 1u);
}

// The kernel's out-of-memory killer may take any process of the pod.
TEST_F(JanitorTest, ARankIsReapedAlsoWhenTheJanitorWasKilled) {
  signal(SIGPIPE, SIG_IGN);  // as the agent does
  const std::string shm = folder + "/shm";
  fs::create_directory(shm);
  {
    Janitor janitor({shm});
    Output output(false, "pod");
    Launcher launcher(output, janitor);
    const ProcId proc{"n", 3};
    launcher.launch(proc, {"sleep", "infinity"}, {"PATH=/usr/bin:/bin"});
    ASSERT_EQ(kill(janitor.pid(), SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(janitor.pid()), &info, WEXITED | WNOWAIT), 0);
    launcher.kill(proc, SIGKILL);
    std::vector<RankExit> exits;
    for (int i = 0; i < 1000 && exits.empty(); ++i) {
      exits = launcher.reap();
      usleep(10'000);
    }
    ASSERT_EQ(exits.size(), 1u);
    EXPECT_EQ(exits[0].proc, proc);
    EXPECT_EQ(exits[0].signal, SIGKILL);
    launcher.launch(proc, {"true"}, {"PATH=/usr/bin:/bin"});  // the next one needs no janitor
  }
  EXPECT_FALSE(fs::exists(shm)) << "then the agent cleans up by itself";
}

}  // namespace
}  // namespace empi::agent
