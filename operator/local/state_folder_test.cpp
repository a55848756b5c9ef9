// SPDX-License-Identifier: Apache-2.0
#include "operator/local/state_folder.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "operator/api/parse.hpp"
#include "operator/local/control.hpp"

namespace emj::local {
namespace {

class StateFolderTest : public testing::Test {
 protected:
  StateFolderTest() {
    root_ = testing::TempDir() + "state-" + random_uuid();
    setenv("EMPI_STATE_DIR", root_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  ElasticMPIJob job() {
    auto parsed = parse_yaml(R"(
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: demo}
spec:
  worker:
    minReplicas: 1
    maxReplicas: 4
    template: {spec: {containers: [{name: worker, command: ["program", "--n", "256", "Off", "null", "a: b\n\"c\""]}]}}
)",
                             "demo.yaml");
    EXPECT_TRUE(parsed) << parsed.message();
    return parsed.value();
  }

  std::string root_;
};

TEST_F(StateFolderTest, WhatIsWrittenIsReadBack) {
  StateFolder folder("demo");
  const UniqueFd lock = folder.claim();
  ElasticMPIJob written = job();
  written.metadata.uid = random_uuid();
  written.status.state = JobState::Running;
  written.status.epoch = 4;
  folder.write_spec(written);
  folder.write_status(written.status);
  const auto read = folder.read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec, written.spec);
  EXPECT_EQ(read->status, written.status);
  EXPECT_EQ(known_jobs(), std::vector<std::string>{"demo"});
}

TEST_F(StateFolderTest, OneControllerAtATime) {
  StateFolder folder("demo");
  EXPECT_FALSE(folder.claimed());
  {
    const UniqueFd lock = folder.claim();
    EXPECT_TRUE(folder.claimed());
    EXPECT_THROW(folder.claim(), std::runtime_error);
  }
  EXPECT_FALSE(folder.claimed());
  EXPECT_NO_THROW(folder.claim());
}

// As on a network file system without a lock daemon: in this process flock() says ENOLCK from now on.
void live_without_locks() {
  sock_filter without[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(without), without};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0) << std::strerror(errno);
}

TEST_F(StateFolderTest, WhereTheFileSystemHasNoLocksThatIsSaid) {
  const pid_t child = fork();
  if (child == 0) {
    live_without_locks();
    StateFolder folder("demo");
    bool well = false;
    try {
      const UniqueFd lock = folder.claim();
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      well = what.find("No locks available") != std::string::npos &&
             what.find("EMPI_STATE_DIR") != std::string::npos;
    }
    _exit(well && !folder.claimed() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(StateFolderTest, CommandsTravelOverTheSocketHoweverLongThePath) {
  setenv("EMPI_STATE_DIR", (root_ + "/" + std::string(150, 'x')).c_str(), 1);
  StateFolder folder("demo");
  const UniqueFd lock = folder.claim();
  EventLoop loop;
  serve_commands(loop, folder, [](const Command& command) {
    return Reply{command.verb == Command::Verb::Scale, "asked for " + std::to_string(command.replicas)};
  });
  const Reply scaled = send_command(folder, {Command::Verb::Scale, 7});
  EXPECT_TRUE(scaled.ok);
  EXPECT_EQ(scaled.message, "asked for 7");
  EXPECT_FALSE(send_command(folder, {Command::Verb::Cancel, 0}).ok);
  loop.stop();
}

TEST_F(StateFolderTest, NobodyAnswersWhenNothingRuns) {
  StateFolder folder("demo");
  folder.claim();
  const Reply reply = send_command(folder, {Command::Verb::Cancel, 0});
  EXPECT_FALSE(reply.ok);
  EXPECT_NE(reply.message.find("does not answer"), std::string::npos);
}

TEST(EventLoopTest, RunsTimersInOrderAndWatchesUntilTold) {
  EventLoop loop;
  Wakeup done;
  std::vector<int> order;
  int reads = 0;
  auto [reader, writer] = make_pipe();
  loop.watch(std::move(reader), [&](int fd) {
    char byte;
    EXPECT_EQ(read(fd, &byte, 1), 1);
    return ++reads < 2;  // the second byte is the last one we want
  });
  ASSERT_EQ(write(writer.get(), "abc", 3), 3);
  const auto now = EventLoop::Clock::now();
  loop.at(now + std::chrono::milliseconds(40), [&] {
    order.push_back(2);
    done.notify();
  });
  loop.at(now + std::chrono::milliseconds(20), [&] { order.push_back(1); });
  done.wait_until(now + std::chrono::seconds(20));
  loop.stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(reads, 2);
}

TEST(EventLoopTest, CallsNothingThatIsForgotten) {
  EventLoop loop;
  Wakeup entered, leave;
  std::atomic<int> calls = 0;
  auto [reader, writer] = make_pipe();
  const EventLoop::Id id = loop.watch(std::move(reader), [&](int) {
    // It may be called again before it is forgotten.
    if (++calls > 1) return true;
    entered.notify();
    leave.wait_until(Wakeup::Clock::now() + std::chrono::seconds(20));
    return true;  // there is a byte still
  });
  ASSERT_EQ(write(writer.get(), "a", 1), 1);
  entered.wait_until(Wakeup::Clock::now() + std::chrono::seconds(20));
  std::thread forgetting([&] { loop.forget(id); });
  leave.notify();
  forgetting.join();
  const int before = calls;
  EXPECT_GE(before, 1);
  loop.forget(id);  // once more is no matter
  loop.at(EventLoop::Clock::now(), [&] { entered.notify(); });
  entered.wait_until(Wakeup::Clock::now() + std::chrono::seconds(20));
  loop.stop();
  EXPECT_EQ(calls, before);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_LT(write(writer.get(), "b", 1), 0) << "the watched end is closed";
}

}  // namespace
}  // namespace emj::local
