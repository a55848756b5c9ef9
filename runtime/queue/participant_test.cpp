// SPDX-License-Identifier: Apache-2.0
// Master and workers as threads of this process, over real sockets, without MPI. Promise: whoever joins,
// leaves, breaks down or hands the queue over, in whatever order, all get the results that one process alone
// gets, bit for bit.
#include "runtime/queue/participant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>

#include "runtime/queue/testing/processes.hpp"

namespace empi::queue {
namespace {

TEST_F(Nodes, OneAlone) {
  const Program p;
  add("a", false, p);
  expect_all_done(p);
}

TEST_F(Nodes, SeveralFromTheStart) {
  const Program p;
  for (const char* id : {"a", "b", "c", "d"}) add(id, false, p);
  expect_all_done(p);
  for (const auto& [id, process] : all)
    EXPECT_EQ(process->participant.change_ns(), 0) << id << ": nothing changed";
}

TEST_F(Nodes, AJoinerTakesPartInThePhaseInHand) {
  const Program p{.phases = 2, .tasks = 400, .pause = 1ms};
  add("a", false, p);
  Process& joiner = add("b", true, p);
  expect_all_done(p);
  EXPECT_TRUE(joiner.finished);
  EXPECT_GT(joiner.participant.change_ns(), 0);
  EXPECT_EQ(all["a"]->participant.change_ns(), 0) << "nobody stops for a joiner";
}

TEST_F(Nodes, ALeaverGoesAfterTheTaskInHand) {
  const Program p{.phases = 2, .tasks = 300, .pause = 1ms};
  add("a", false, p);
  Process& leaver = add("b", false, p);
  leaver.participant.leave({"b"});
  expect_all_done(p);
  EXPECT_FALSE(leaver.finished);
  EXPECT_GT(leaver.participant.change_ns(), 0);
  EXPECT_EQ(all["a"]->participant.change_ns(), 0) << "nobody stops for a leaver";
}

TEST_F(Nodes, ABrokenWorkersTasksAreGivenOutAgain) {
  const Program p{.phases = 2, .tasks = 300, .pause = 1ms};
  add("a", false, p);
  add("b", false, p);
  Process& victim = add("c", false, p);
  victim.broken = true;
  expect_all_done(p);
  EXPECT_FALSE(victim.finished);
}

// A connection that stays open although its process is gone: the agents know better.
TEST_F(Nodes, AWorkerThatIsDeclaredLost) {
  const Program p{.phases = 1, .tasks = 100, .pause = 100us};
  Process& master = add("a", false, p);
  const Worker silent("silent", Address::parse(master_address()), Newcomer::Member);
  master.participant.lost("silent");
  expect_all_done(p);
}

TEST_F(Nodes, TheMasterHandsTheQueueOver) {
  const Program p{.phases = 2, .tasks = 400, .pause = 1ms};
  Process& first = add("a", false, p);
  add("b", false, p);
  add("c", false, p);
  first.participant.leave({"a"});
  expect_all_done(p);
  EXPECT_FALSE(first.finished);
  EXPECT_NE(all["b"]->was_master, all["c"]->was_master) << "one of the two";
  for (const auto& [id, process] : all) EXPECT_GT(process->participant.change_ns(), 0) << id;
}

TEST_F(Nodes, TheQueueIsNotHandedToOneThatLeavesToo) {
  const Program p{.phases = 2, .tasks = 400, .pause = 1ms};
  Process& first = add("a", false, p);
  Process& second = add("b", false, p);
  Process& third = add("c", false, p);
  first.participant.leave({"a", "b"});
  second.participant.leave({"a", "b"});
  expect_all_done(p);
  EXPECT_FALSE(first.finished);
  EXPECT_FALSE(second.finished);
  EXPECT_TRUE(third.finished);
  EXPECT_TRUE(third.was_master);
}

TEST_F(Nodes, RanksThatDisagreeAboutAPhaseAreTold) {
  Program p{.phases = 1, .tasks = 2000, .pause = 1ms};
  Process& master = add("a", false, p);
  p.tasks = 100;
  Process& other = add("b", false, p);
  begin();
  master.thread.join();
  other.thread.join();
  EXPECT_NE(master.error.find("phase of 100 tasks with results of 8 bytes, the master in one of 2000 tasks"),
            std::string::npos)
      << master.error;
  EXPECT_NE(other.error, "");
}

TEST_F(Nodes, AlsoWhenTheMasterComesLast) {
  Participant master("a", "127.0.0.1"), worker("b", "127.0.0.1");
  master.on_master([this](const std::string& where) { address = where; });
  master.be_master();
  worker.be_worker(address, false);
  const auto nothing = [](std::int64_t, std::byte*) {};
  const auto no_values = [] { return Bytes(); };
  std::atomic<bool> there{false};
  std::thread other([&] {
    there = true;
    EXPECT_THROW(worker.phase(1, 8, nothing, no_values), std::runtime_error);
  });
  while (!there) std::this_thread::yield();
  const auto slow = [](std::int64_t, std::byte*) { std::this_thread::sleep_for(5ms); };
  EXPECT_THROW(master.phase(100'000, 8, slow, no_values), std::runtime_error);
  other.join();
}

TEST_F(Nodes, TheFirstPhaseDoesNotEndBeforeAllMembersAreKnown) {
  Participant master("a", "127.0.0.1"), worker("b", "127.0.0.1");
  master.on_master([this](const std::string& where) { address = where; });
  master.be_master(2);  // b, and one that is lost before it comes
  const auto task = [](std::int64_t, std::byte* result) { *result = std::byte{7}; };
  const auto no_values = [] { return Bytes(); };
  std::atomic<bool> done{false};
  std::thread first([&] {
    EXPECT_EQ(master.phase(1, 1, task, no_values).results->at(0), std::byte{7});
    done = true;
    master.finish();
  });
  while (master.figures()->completed == 0) std::this_thread::yield();
  EXPECT_FALSE(done);
  master.lost("c");
  worker.be_worker(address, false);
  EXPECT_EQ(worker.phase(1, 1, task, no_values).results->at(0), std::byte{7});
  worker.finish();
  first.join();
}

TEST_F(Nodes, StrangersAreTurnedAway) {
  const Program p{.phases = 1, .tasks = 400, .pause = 1ms};
  add("a", false, p);
  Address wrong = Address::parse(master_address());
  wrong.key = "guess";
  EXPECT_THROW(Worker("stranger", wrong, Newcomer::Member), std::runtime_error);
  Connection noise = Connection::to(wrong, 5);
  noise.send({.magic = 7, .kind = Kind::Done}, Bytes(100));
  noise.write_some();
  expect_all_done(p);
}

TEST_F(Nodes, AJoinerThatComesTooLateIsSentAway) {
  Participant participant("a", "127.0.0.1");
  participant.on_master([this](const std::string& where) { address = where; });
  participant.be_master();
  Participant late("b", "127.0.0.1");
  late.be_worker(address, true);
  std::thread end([&] { participant.finish(); });
  EXPECT_FALSE(late.await_values());
  late.finish();
  end.join();
}

TEST_F(Nodes, TheWorldAfterAPhaseIsOfThoseWhoAreThere) {
  const Program p{.phases = 3, .tasks = 300, .pause = 1ms};
  with_worlds = true;
  add("a", false, p);
  Process& leaver = add("b", false, p);
  add("c", false, p);
  Process& joiner = add("d", true, p);
  leaver.participant.leave({"b"});
  expect_all_done(p);
  EXPECT_FALSE(joiner.world.empty());
  EXPECT_EQ(worlds.ranks(joiner.world), (std::vector<WorkerId>{"a", "c", "d"}));
}

TEST_F(Nodes, AWorkerThatBreaksDownWhileTheWorldIsBuilt) {
  const Program p{.phases = 2, .tasks = 4, .pause = 1ms};
  with_worlds = true;
  Process& master = add("a", false, p);
  Process& other = add("b", false, p);
  Process& victim = add("c", false, p);
  // Somebody has gone, so that there is something to build.
  const Worker ghost("ghost", Address::parse(master_address()), Newcomer::Member);
  master.participant.lost("ghost");
  victim.breaks_in_build = true;
  expect_all_done(p);
  EXPECT_FALSE(victim.finished);
  EXPECT_EQ(worlds.ranks(other.world), (std::vector<WorkerId>{"a", "b"}));
}

class RandomChanges : public Nodes, public testing::WithParamInterface<unsigned> {};

TEST_P(RandomChanges, GiveTheSameResults) {
  const Program p{.phases = 4, .tasks = 500, .pause = 300us};
  with_worlds = GetParam() % 2 == 0;
  std::mt19937 random(GetParam());
  add("w0", false, p);
  add("w1", false, p);
  begin();
  std::vector<std::string> members{"w0", "w1"};  // the master is among them; only whole changes follow
  for (int change = 2; change < 40; ++change) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 12));
    if (std::ranges::any_of(members, [&](const std::string& id) { return all[id]->over.load(); })) break;
    const std::size_t which = random() % members.size();
    Process& chosen = *all[members[which]];
    switch (random() % 4) {
      case 0:
        if (members.size() > 1) {  // the master too
          // One that breaks down as it takes the queue over ends the job: not part of the promise.
          for (auto& [id, process] : all)
            while (process->broken && !process->over) std::this_thread::sleep_for(1ms);
          chosen.participant.leave({members[which]});
          while (!chosen.over) std::this_thread::sleep_for(1ms);
          members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      case 1:
        // The last one may be no master: its master has just ended the program.
        if (members.size() > 1 && !chosen.participant.is_master()) {
          chosen.broken = true;
          members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      default:
        if (members.size() < 6) {
          const std::string id = "w" + std::to_string(change);
          if (add_joiner(id, p)) members.push_back(id);
        }
    }
  }
  expect_all_done(p);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomChanges, testing::Range(1u, 9u));

}  // namespace
}  // namespace empi::queue
