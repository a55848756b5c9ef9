// How a master and a worker end, with the other side played by the test. Promise: nobody is left waiting for
// a master that has ended, and no master ends while somebody is still to come for results. (What would wait
// for ever without it is not tried: the test looks at sockets, with a bound.)
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/tasks/node.hpp"
#include "runtime/tasks/packing.hpp"

namespace empi::tasks {
namespace {

using namespace std::chrono_literals;

constexpr int kPatienceMs = 30'000;

// Whether it came to be so.
template <class Condition>
bool wait_until(const Condition& is_so) {
  for (int ms = 0; ms < kPatienceMs; ++ms) {
    if (is_so()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

bool readable(int fd, int milliseconds) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, milliseconds) > 0;
}

// The next message of the other side; throws std::runtime_error when none comes.
Message receive(Connection& connection) {
  for (;;) {
    if (auto message = connection.next()) return std::move(*message);
    if (!readable(connection.fd(), kPatienceMs)) throw std::runtime_error("no message came");
    if (!connection.read_some()) {
      if (auto message = connection.next()) return std::move(*message);
      throw std::runtime_error("the other side has closed the connection");
    }
  }
}

Message receive(Connection& connection, Kind kind) {
  for (;;)
    if (Message message = receive(connection); message.head.kind == kind) return message;
}

Connection accept_from(Listener& listener) {
  if (!readable(listener.fd(), kPatienceMs)) throw std::runtime_error("nobody connects");
  return std::move(*listener.accept());
}

void say_hello(Connection& connection, const Address& to, const WorkerId& self, Newcomer how,
               std::uint64_t phase) {
  Packer hello;
  hello.put(to.key);
  hello.put(self);
  hello.list(std::vector<Range>{});
  connection.send({.kind = Kind::Hello, .phase = phase, .first = static_cast<std::int64_t>(how)},
                  hello.take());
  connection.flush();
}

const Phase kPhase{1, 4, 1};
const Task kSeven = [](std::int64_t, std::byte* result) { *result = std::byte{7}; };
Bytes no_values() { return {}; }

TEST(Ends, NobodyWaitsForAMasterThatHasEnded) {
  Node master("a", "127.0.0.1");
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

// The test is the master; `heir`, its worker, gets the queue.
struct TakenOver {
  explicit TakenOver(WorldMaker maker = {}) : node("heir", "127.0.0.1") {
    node.on_master([this](const std::string& text) { address = Address::parse(text); });
    const Address here{"127.0.0.1", listener.port(), "key"};
    thread = std::thread([this, here, maker = std::move(maker)] {
      node.be_worker(here.text(), false);
      node.use_world(maker);
      left = node.phase(kPhase.tasks, kPhase.width, kSeven, no_values).left;
      ended = true;
      node.finish();
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
    const Estate estate{kPhase, queue, Bytes(4), std::move(workers), "master"};
    old_master->send({.kind = Kind::TakeOver, .phase = kPhase.number}, estate.pack());
    old_master->flush();
  }

  Listener listener{"127.0.0.1"};
  std::optional<Connection> old_master;
  Node node;
  Address address;  // of the heir, when it is ready
  std::atomic<bool> left{false}, ended{false}, finished{false};
  std::thread thread;
};

// The queue was handed over in the last tasks of the last phase; a worker has been told, but has not got
// there.
TEST(Ends, TheNextMasterStaysForWorkersThatAreOnTheirWay) {
  TakenOver heir;
  heir.offer({"heir", "late"});
  const Address address = Address::parse(receive(*heir.old_master, Kind::Ready).text());
  wait_until([&] { return heir.ended.load(); });
  ASSERT_TRUE(heir.ended);
  EXPECT_FALSE(readable(heir.old_master->fd(), 100)) << "the heir has closed its predecessor's connection";
  EXPECT_FALSE(heir.finished);
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
  TakenOver heir({.build =
                      [&](const std::string& name, const std::vector<WorkerId>&) {
                        const std::lock_guard lock(mutex);
                        begun.push_back(name);
                      },
                  .adopt = [](const std::string&) {}});
  Packer world;
  world.put(std::string("master.1"));
  world.list(std::vector<WorkerId>{"master", "heir"});
  heir.old_master->send({.kind = Kind::World, .phase = kPhase.number}, world.take());
  heir.old_master->flush();
  wait_until([&] { return count() >= 1; });
  heir.node.leave({"heir"});
  heir.offer({"heir"});
  receive(*heir.old_master, Kind::Ready);
  // There is nobody whom it could give the queue to: it ends the phase, in a world of its own.
  wait_until([&] { return count() >= 2; });
  ASSERT_EQ(count(), 2u);
  heir.node.world_built(begun.back(), "");
  wait_until([&] { return heir.ended.load(); });
  EXPECT_TRUE(heir.ended);
  EXPECT_FALSE(heir.left);
}

// A joiner breaks down while the world with it is built, so that the one before still holds. Promise: who
// comes in the next phase takes part in it.
TEST(Ends, AWorldThatIsNotNeededAnyMoreIsForgotten) {
  Node master("a", "127.0.0.1");
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
}  // namespace empi::tasks
