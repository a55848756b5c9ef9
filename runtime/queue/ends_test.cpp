// SPDX-License-Identifier: Apache-2.0
// How a master and a worker end, with the other side played by the test. Promise: nobody is left waiting for
// a master that has ended, and no master ends while somebody is still to come for results. (What would wait
// for ever without it is not tried: the test looks at sockets, with a bound.)
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/queue/packing.hpp"
#include "runtime/queue/participant.hpp"
#include "runtime/queue/testing/by_hand.hpp"

namespace empi::queue {
namespace {

using namespace std::chrono_literals;
using by_hand::connect_to;
using by_hand::kPatienceMs;
using by_hand::readable;
using by_hand::receive;
using by_hand::say_hello;

// Whether it came to be so.
template <class Condition>
bool wait_until(const Condition& is_so) {
  for (int ms = 0; ms < kPatienceMs; ++ms) {
    if (is_so()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

Connection accept_from(Listener& listener) {
  if (!readable(listener.fd(), kPatienceMs)) throw std::runtime_error("nobody connects");
  return std::move(*listener.accept());
}

const Phase kPhase{1, 4, 1};
const Task kSeven = [](std::int64_t, std::byte* result) { *result = std::byte{7}; };
Bytes no_values() { return {}; }

TEST(Connection, IsMadeToAnAddressOfIPv6) {
  std::optional<Listener> listener;
  try {
    listener.emplace("::1");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  const Address told{"::1", listener->port(), "key"};
  const Address heard = Address::parse(told.text());
  EXPECT_EQ(heard.host, "::1");
  EXPECT_EQ(heard.port, told.port);
  EXPECT_EQ(heard.key, "key");
  EXPECT_NO_THROW(Connection::to(heard, 20));
}

TEST(Ends, NobodyWaitsForAMasterThatHasEnded) {
  Participant master("a", "127.0.0.1");
  Address address;
  master.on_master([&](const std::string& text) { address = Address::parse(text); });
  master.be_master();
  Connection silent = Connection::to(address, 30);  // has not said who it is
  master.finish();
  // The process lives on: it finalises MPI, say.
  ASSERT_TRUE(readable(silent.fd(), kPatienceMs)) << "the connection stays open";
  EXPECT_FALSE(silent.read_some());
  EXPECT_THROW(Connection::to(address, 30), std::runtime_error) << "somebody seems to listen";
}

Bytes of_mirror(const std::string& address, const std::string& id) {
  Packer out;
  for (const std::string& word : {std::string("master"), address, id}) out.put(word);
  return out.take();
}

void reset(std::optional<Connection>& connection) {
  const linger at_once{1, 0};
  setsockopt(connection->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  connection.reset();
}

// A worker of a master that the test plays, and is lost; the test is the next one, too.
struct MasterIsLost {
  // `task`: of the worker. `joins`: it does, and never gets as far as a phase.
  void run_worker(const Task& task, bool joins = false) {
    worker = std::jthread([this, &task, joins] {
      try {
        Participant participant("worker", "127.0.0.1");
        participant.be_worker(here.text(), joins);
        if (joins) participant.await_values();
        participant.phase(kPhase.tasks, kPhase.width, task, no_values);
      } catch (const std::exception& e) {
        error = e.what();
      }
    });
    master = accept_from(listener);
    receive(*master, Kind::Hello);
  }
  void expect_it_goes_to_the_next() {
    const bool comes = readable(next.fd(), kPatienceMs);
    EXPECT_TRUE(comes);
    if (comes) {
      Connection mirror = std::move(*next.accept());
      receive(mirror, Kind::Hello);
    }  // and is gone as well
    worker.join();
    EXPECT_NE(error.find(":" + std::to_string(there.port)), std::string::npos) << error;
  }

  Listener listener{"127.0.0.1"}, next{"127.0.0.1"};
  const Address here{"127.0.0.1", listener.port(), "key"}, there{"127.0.0.1", next.port(), "other"};
  std::optional<Connection> master;
  std::string error;
  std::jthread worker;
};

// It sends what it has done, and the connection is reset: what the master had said before is there to be
// read.
TEST(Ends, AWorkerThatCannotSendHearsWhatItsMasterSaidLast) {
  MasterIsLost lost;
  std::latch sent{1};
  const Task last_words = [&](std::int64_t, std::byte* result) {
    *result = std::byte{7};
    sent.wait();
    lost.master->send({.kind = Kind::Successor}, of_mirror(lost.there.text(), "mirror"));
    lost.master->flush();
    reset(lost.master);
  };
  lost.run_worker(last_words);
  lost.master->send({.kind = Kind::Welcome}, of_mirror("", ""));
  lost.master->flush();
  receive(*lost.master, Kind::Enter);
  lost.master->send({.kind = Kind::Work, .phase = kPhase.number, .first = 0, .count = 1});
  lost.master->flush();
  sent.count_down();
  lost.expect_it_goes_to_the_next();
}

// On a busy machine a joiner reads its welcome together with what was said after it. Promise: who takes the
// master's place is who was named last.
TEST(Ends, AWelcomeThatIsReadLateIsNotTheLastWord) {
  MasterIsLost lost;
  const Task none = kSeven;
  lost.run_worker(none, true);
  Bytes said;
  for (const auto& [kind, payload] : {std::pair{Kind::Welcome, of_mirror("", "")},
                                      std::pair{Kind::Successor, of_mirror(lost.there.text(), "mirror")}}) {
    Head head{.kind = kind};
    head.length = payload.size();
    const auto* bytes = reinterpret_cast<const std::byte*>(&head);
    said.insert(said.end(), bytes, bytes + sizeof head);
    said.insert(said.end(), payload.begin(), payload.end());
  }
  ASSERT_EQ(send(lost.master->fd(), said.data(), said.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(said.size()));
  reset(lost.master);
  lost.expect_it_goes_to_the_next();
}

// What has left the master, and waits in its kernel for a worker that reads nothing, is lost with the master.
TEST(Ends, TheMirrorIsNoNewsBeforeAllCanReadOfIt) {
  Master master("master", "127.0.0.1", 0, "pod-of-master");
  std::atomic<bool> relied_on{false};
  master.on_mirror([&](const WorkerId& who) { relied_on = !who.empty(); });
  std::latch gate{1};
  const Task waits = [&](std::int64_t, std::byte*) { gate.wait(); };
  std::jthread main([&] { master.run(kPhase, Bytes(400'000), waits); });

  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int small = 4096;
  ASSERT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  connect_to(fd, master.address());
  ASSERT_EQ(fcntl(fd.get(), F_SETFL, O_NONBLOCK), 0);
  std::optional<Connection> silent(std::move(fd));
  say_hello(*silent, master.address(), "silent", Newcomer::Joiner, 0);
  receive(*silent, Kind::Welcome);
  ASSERT_TRUE(readable(silent->fd(), kPatienceMs)) << "the values do not come";

  const auto comes = [&](const WorkerId& who, const std::string& pod) {
    Connection worker = Connection::to(master.address(), 30);
    say_hello(worker, master.address(), who, Newcomer::Member, 0, pod);
    receive(worker, Kind::Welcome);
    return worker;
  };
  std::optional<Connection> mirror(comes("mirror", "another pod"));
  mirror->send({.kind = Kind::Enter, .phase = kPhase.number, .first = kPhase.tasks, .count = kPhase.width});
  mirror->flush();
  const Message asked = receive(*mirror, Kind::Mirror);
  mirror->send({.kind = Kind::Mirrors, .first = asked.head.first}, bytes_of("127.0.0.1:1/key"));
  mirror->flush();
  receive(*mirror, Kind::Successor);
  comes("third", "");  // the round in which that was said is over
  EXPECT_FALSE(relied_on) << "one of the workers cannot know of it";
  receive(*silent, Kind::Successor);
  EXPECT_TRUE(wait_until([&] { return relied_on.load(); }));
  silent.reset();
  mirror.reset();
  gate.count_down();
}

// The test is the master; `successor`, its worker, gets the queue.
struct TakenOver {
  explicit TakenOver(WorldMaker maker = {}) : participant("successor", "127.0.0.1") {
    participant.on_master([this](const std::string& text) { address = Address::parse(text); });
    const Address here{"127.0.0.1", listener.port(), "key"};
    thread = std::thread([this, here, maker = std::move(maker)] {
      participant.be_worker(here.text(), false);
      participant.use_world(maker);
      left = participant.phase(kPhase.tasks, kPhase.width, kSeven, no_values).left;
      ended = true;
      participant.finish();
      finished = true;
    });
    old_master = accept_from(listener);
    receive(*old_master, Kind::Hello);
    old_master->send({.kind = Kind::Welcome});
    old_master->flush();
    receive(*old_master, Kind::Enter);
  }
  ~TakenOver() {
    old_master.reset();
    if (thread.joinable()) thread.join();
  }
  void offer(std::set<WorkerId> workers) {
    const TaskQueue queue(kPhase.tasks);
    const HandoverState state{kPhase, queue, Bytes(4), std::move(workers), "master"};
    old_master->send({.kind = Kind::TakeOver, .phase = kPhase.number}, state.pack());
    old_master->flush();
  }

  Listener listener{"127.0.0.1"};
  std::optional<Connection> old_master;
  Participant participant;
  Address address;  // of the successor, when it is ready
  std::atomic<bool> left{false}, ended{false}, finished{false};
  std::thread thread;
};

// The queue was handed over in the last tasks of the last phase; a worker has been told, but has not got
// there.
TEST(Ends, TheNextMasterStaysForWorkersThatAreOnTheirWay) {
  TakenOver successor;
  successor.offer({"successor", "late"});
  const Address address = Address::parse(receive(*successor.old_master, Kind::Ready).text());
  wait_until([&] { return successor.ended.load(); });
  ASSERT_TRUE(successor.ended);
  EXPECT_FALSE(readable(successor.old_master->fd(), 100))
      << "the successor has closed its predecessor's connection";
  EXPECT_FALSE(successor.finished);
  Connection late = Connection::to(address, 30);
  say_hello(late, address, "late", Newcomer::Moved, kPhase.number);
  EXPECT_EQ(receive(late, Kind::Results).payload, Bytes(4, std::byte{7}));
  receive(late, Kind::Closed);
}

// A world that was begun and failed keeps a worker that wants to leave; the queue is offered to it.
TEST(Ends, AWorkerThatMayNotLeaveYetTakesTheQueue) {
  std::mutex mutex;
  std::vector<std::string> begun;
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return begun.size();
  };
  TakenOver successor({.build =
                           [&](const std::string& name, const std::vector<WorkerId>&) {
                             const std::lock_guard lock(mutex);
                             begun.push_back(name);
                           },
                       .adopt = [](const std::string&) {}});
  Packer world;
  world.put(std::string("master.1"));
  world.list(std::vector<WorkerId>{"master", "successor"});
  successor.old_master->send({.kind = Kind::World, .phase = kPhase.number}, world.take());
  successor.old_master->flush();
  wait_until([&] { return count() >= 1; });
  successor.participant.leave({"successor"});
  successor.offer({"successor"});
  receive(*successor.old_master, Kind::Ready);
  // There is nobody whom it could give the queue to: it ends the phase, in a world of its own.
  wait_until([&] { return count() >= 2; });
  ASSERT_EQ(count(), 2u);
  successor.participant.world_built(begun.back(), "");
  wait_until([&] { return successor.ended.load(); });
  EXPECT_TRUE(successor.ended);
  EXPECT_FALSE(successor.left);
}

// A joiner breaks down while the world with it is built, so that the one before still holds. Promise: who
// comes in the next phase takes part in it.
TEST(Ends, AWorldThatIsNotNeededAnyMoreIsForgotten) {
  Participant master("a", "127.0.0.1");
  Address address;
  std::mutex mutex;
  std::vector<std::string> begun;
  std::atomic<int> gate{0}, in_phase{0};  // phases whose task may end; whose task has begun
  const auto worlds = [&] {
    const std::lock_guard lock(mutex);
    return begun.size();
  };
  master.on_master([&](const std::string& text) { address = Address::parse(text); });
  master.be_master();
  master.use_world({.build =
                        [&](const std::string& name, const std::vector<WorkerId>&) {
                          const std::lock_guard lock(mutex);
                          begun.push_back(name);
                        },
                    .adopt = [](const std::string&) {}});
  std::jthread main([&] {
    for (int phase = 1; phase <= 3; ++phase)
      master.phase(
          1, 1,
          [&](std::int64_t, std::byte*) {
            in_phase = phase;
            wait_until([&] { return gate >= phase; });
          },
          no_values);
    master.finish();
  });
  const auto join_and_break_down = [&](const WorkerId& id, Kind after) {
    Connection joiner = Connection::to(address, 30);
    say_hello(joiner, address, id, Newcomer::Joiner, 0);
    receive(joiner, after);
  };
  EXPECT_NO_THROW(join_and_break_down("b", Kind::World));
  // Without b: a alone.
  EXPECT_TRUE(wait_until([&] { return worlds() == 2; }));
  master.world_built(begun.back(), "");
  gate = 1;
  EXPECT_NO_THROW(join_and_break_down("c", Kind::World));
  gate = 2;
  EXPECT_TRUE(wait_until([&] { return in_phase == 3; }));
  EXPECT_NO_THROW(join_and_break_down("d", Kind::Values));
  gate = 3;
}

}  // namespace
}  // namespace empi::queue
