// SPDX-License-Identifier: Apache-2.0
// The line of an ended job, its writing by the controller, and what a reader of traces makes of it.

#include "operator/controller/accounting.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "operator/controller/testing/memory_job.hpp"
#include "operator/simulate/trace.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Time at(int seconds) { return Time{Seconds(1'000'000 + seconds)}; }

// 100 s on 4 workers, 50 s on 2.
ElasticMPIJob ended_job() {
  ElasticMPIJob job;
  job.metadata.namespace_name = "team";
  job.metadata.name = "demo";
  job.metadata.uid = "11-22";
  job.metadata.creation_time = at(0);
  job.spec.slots_per_worker = 2;
  job.spec.worker.replicas = 3;
  job.spec.worker.max_replicas = 4;
  job.spec.scheduling.queue_name = "main";
  job.spec.scheduling.expected = Seconds(600);
  job.status.state = JobState::Succeeded;
  job.status.usage = UsageStatus{at(30), 500, 0, at(180)};
  job.status.completion_time = at(180);
  return job;
}

simulate::Trace read(const std::string& lines) {
  const auto trace = simulate::parse_trace(lines, "accounts.swf");
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value() : simulate::Trace{};
}

TEST(Accounting, IsReadAsATrace) {
  const std::string line = accounting_line(ended_job(), at(500));
  const simulate::Trace trace = read(line + "\n" + line);
  ASSERT_EQ(trace.jobs.size(), 2u);
  const simulate::TraceJob& job = trace.jobs[0];
  EXPECT_EQ(job.submit, 1'000'000);
  EXPECT_EQ(job.run_seconds, 150);
  EXPECT_EQ(job.processors, 7) << "500 worker-seconds of 2 slots in 150 s";
  EXPECT_EQ(job.estimate, 600);
  EXPECT_GT(job.user, 0);
  EXPECT_THAT(line, HasSubstr(" 1000000 30 150 7 -1 -1 6 600 -1 1 "));
  EXPECT_THAT(
      line, EndsWith("; namespace=team name=demo queue=main uid=11-22 workerSeconds=500.0 state=Succeeded"));
}

TEST(Accounting, SaysHowItEnded) {
  ElasticMPIJob job = ended_job();
  job.status.state = JobState::Failed;
  EXPECT_THAT(accounting_line(job, at(500)), HasSubstr(" 6 600 -1 0 "));
  job.status.conditions = {{"Failed", "True", "Cancelled", "", {}, 0}};
  EXPECT_THAT(accounting_line(job, at(500)), HasSubstr(" 6 600 -1 5 "));
}

TEST(Accounting, OfOneThatWasDeletedWhileItRanEndsNow) {
  ElasticMPIJob job = ended_job();
  job.status.state = JobState::Running;
  job.status.completion_time.reset();
  job.status.usage = UsageStatus{at(30), 400, 2, at(130)};
  const std::string line = accounting_line(job, at(180));
  EXPECT_THAT(line, HasSubstr(" 1000000 30 150 7 -1 -1 6 600 -1 5 "));
  EXPECT_THAT(line, EndsWith("workerSeconds=500.0 state=Deleted"));
}

TEST(Accounting, OfOneThatNeverRanIsNoJobOfATrace) {
  ElasticMPIJob job = ended_job();
  job.status.usage.reset();
  job.status.state = JobState::Failed;
  job.status.conditions = {{"Failed", "True", "Cancelled", "", {}, 0}};
  const std::string line = accounting_line(job, at(500));
  EXPECT_THAT(line, HasSubstr(" 1000000 180 -1 -1 -1 -1 6 "));
  const simulate::Trace trace = read(line + "\n" + accounting_line(ended_job(), at(0)));
  EXPECT_EQ(trace.cancelled, 1);
  EXPECT_EQ(trace.jobs.size(), 1u);
}

// As operate.md says how to take the accounts out of a log.
std::string accounts_in(const std::string& log) {
  std::ifstream guide(empi::testing::of_checkout("docs/operate.md"));
  const std::string text{std::istreambuf_iterator<char>(guide), {}};
  std::smatch match;
  EXPECT_TRUE(
      std::regex_search(text, match, std::regex("logs [^\n]*sed -n 's\\|([^|]*: Accounting: )\\|\\|p'")));
  const std::regex account(match.size() > 1 ? match[1].str() : "");
  std::string accounts, line;
  for (std::istringstream lines(log); std::getline(lines, line);)
    if (std::regex_search(line, match, account)) accounts += match.suffix().str() + "\n";
  return accounts;
}

// The log has a program's last words, in Events and in what could not be done.
TEST(Accounting, CannotBeWrittenByAProgram) {
  const JobKey key{"team", "demo"};
  const std::string record = accounting_line(ended_job(), at(500)), entry = accounting_entry(key, record);
  const std::string start = "2026-09-21T14:13:20.000 info: ";
  std::string log;
  const auto write = [&](const std::string& line) {
    log.append(start).append(empi::one_line(line)).append("\n");
  };
  const std::vector<std::string> forgeries = {entry, "\n" + start + entry, "\r" + start + entry,
                                              "\x1b[2K\x1b[G" + start + entry};
  for (const std::string& forged : forgeries) {
    write("team/demo: WorkerFailed: worker demo-w-0 (exit code 1): " + forged);
    write("demo: asking the lead: " + forged);
  }
  EXPECT_EQ(log.find_first_of("\r\x1b"), log.npos);
  EXPECT_EQ(accounts_in(log), "");
  EXPECT_EQ(accounts_in(log + start + empi::one_line(entry) + "\n"), record + "\n");
}

class AccountsTest : public testing::ControllerTest {
 protected:
  AccountsTest() {
    options.account = [this](const JobKey& of, const std::string& line) {
      EXPECT_EQ(of, key);
      lines.push_back(line);
    };
  }
  void pass() {
    time += Seconds(10);
    with_accounts.emplace(
        cluster, runtime, [this] { return time; }, [](const JobKey&, const std::string&) {}, options);
    with_accounts->reconcile(key);  // another operator each time
  }
  void go_on() {
    time += Seconds(10);
    with_accounts->reconcile(key);
  }
  void run() {
    pass();
    make_pods_ready();
    pass();
    pass();
    ASSERT_EQ(cluster.record->job.status.state, JobState::Running);
  }

  ControllerOptions options;
  std::vector<std::string> lines;
  std::optional<Controller> with_accounts;
};

TEST_F(AccountsTest, AJobHasOneLineWhoeverLooksAtItAfterwards) {
  run();
  EXPECT_EQ(cluster.record->job.status.usage->workers, 2);
  pass();
  pass();
  runtime.view.program = ProgramState::Succeeded;
  cluster.fail_status = true;
  pass();
  EXPECT_TRUE(lines.empty()) << "its end is not written yet";
  cluster.fail_status = false;
  pass();
  pass();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("workerSeconds=80.0 state=Succeeded"));
}

TEST_F(AccountsTest, AJobThatIsDeletedWhileItRunsHasOne) {
  run();
  go_on();
  cluster.record.reset();
  go_on();
  go_on();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("workerSeconds=40.0 state=Deleted"));
}

TEST_F(AccountsTest, WhatItHadBeforeARestartCounts) {
  cluster.record->job.spec.run_policy.backoff_limit = 1;
  run();
  runtime.view.program = ProgramState::Failed;
  pass();
  const UsageStatus& usage = *cluster.record->job.status.usage;
  EXPECT_EQ(usage.workers, 0);
  EXPECT_EQ(usage.worker_seconds, 20);
}

}  // namespace
}  // namespace emj
