// SPDX-License-Identifier: Apache-2.0
// What master and workers say to each other, and the TCP connection that carries it.
//
// Why not MPI: a worker may be killed at any time, also while it connects, and a closed socket says that it
// is gone without revoking or agreeing on anything. (An MPI accept that loses its other side may never come
// back, and what was revoked can never be freed: quirk cid-retries, quirk revoked-freed.) A joiner is there
// after some ms, with MPI's accept and connect after 300 to 500. And rank 0 computes as well: beside a busy
// thread one that waited in MPI answered after 9 ms (it yielded the core, again and again), one that waits
// for a socket after 2 to 4 (two cores, load 10).
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/unique_fd.hpp"
#include "runtime/queue/queue.hpp"

namespace empi::queue {

using Bytes = std::vector<std::byte>;
using SharedBytes = std::shared_ptr<const Bytes>;

enum class Kind : std::uint32_t {
  // worker -> master
  Hello = 1,  // payload: Introduction. first: what it is (Newcomer)
  Enter,      // is in `phase`, which has first = number of tasks, count = bytes per result
  Done,       // tasks are done. payload: their results
  Bye,        // leaves the phase, or this master for the next one; what it still has goes back
  Built,      // the world that was asked for is there (first: 1), or not (0). payload: its name; why not
  Mirrors,    // has what was mirrored, up to `first`. payload: where it listens
  // master -> worker
  Welcome,  // is one of the workers from now on. payload: as of Successor
  Values,   // to a joiner: what the others know at the beginning of `phase`. payload: replicated values
  Work,     // a chunk
  Results,  // of all tasks of `phase`, by index; count: workers now, the master included;
            // first: 1 = some have come or gone since the start; times.seconds: that they waited for a world
  Goodbye,  // to one that leaves: nothing is missing
  Closed,   // the program ends without another phase
  Refused,  // payload: why, in words
  Moved,    // payload: address of the next master; go there. count: tasks that no rank has
  World,    // begin to build a world, in place of one in hand. payload: its name, its ranks
  Adopt,    // that world is yours from now on; Results follow. payload: its name
  Mirror,  // be the mirror (mirror.hpp). payload: HandoverState; no results: none is there yet. first: number
  Mirrored,   // payload: steps since. first: number; count: 1 = say Mirrors
  Successor,  // payload: id of this master; where to go if it is lost, and to whom, or nothing
  // a master that leaves -> the next one
  TakeOver,    // payload: HandoverState
  Forward,     // payload: id of a worker, its results. Otherwise like Done
  HandedOver,  // that was all
  // the next master -> the one that leaves
  Ready,  // payload: its address
};

enum class Newcomer : std::int64_t {
  Member,  // has been there from the start
  Joiner,  // has no values yet
  Moved,   // comes from another master
};

// The head of a message, as it is sent: all ranks of a job are of one architecture (as MPI has it here).
struct Head {
  std::uint32_t magic = 0x454d5754;  // "TWME"
  Kind kind = Kind::Hello;
  std::uint64_t phase = 0;
  std::int64_t first = 0, count = 0;
  TaskTimes times = {};
  std::uint64_t length = 0;  // bytes of payload that follow
};
static_assert(sizeof(Head) == 64);

struct Message {
  Head head;
  Bytes payload;
  Range tasks() const { return {head.first, head.count}; }
  std::string text() const { return {reinterpret_cast<const char*>(payload.data()), payload.size()}; }
};
Bytes bytes_of(const std::string& text);

// Where a master listens, and the secret that a worker must know.
struct Address {
  std::string host;  // IP
  int port = 0;
  std::string key;
  std::string text() const;  // host:port/key
  // Throws std::runtime_error when `text` is no such address.
  static Address parse(const std::string& text);
};
std::string random_key();

// One connection, non-blocking. Messages to send wait here until the socket takes them.
class Connection {
 public:
  static constexpr std::uint64_t kLargestPayload = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kLargestHello = 64 * 1024;
  static constexpr std::size_t kTurn = 128 * 1024;
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  // `largest`: payload that it may send us; more is an error before it is read.
  explicit Connection(UniqueFd fd, std::uint64_t largest = kLargestPayload);
  // Connects; waits at most `seconds`. Throws std::runtime_error with the address and the reason.
  static Connection to(const Address& address, double seconds);

  void send(Head head, SharedBytes payload = nullptr);
  void send(Head head, Bytes payload) { send(head, std::make_shared<const Bytes>(std::move(payload))); }
  // Whoever is there has said who it is.
  void trust() { largest_ = kLargestPayload; }
  // Reads and writes what can be done now; of what there is to read, no more than `turn` bytes: others have
  // their turn. False: the other side is gone.
  bool read_some(std::size_t turn = kTurn);
  bool write_some();
  // Waits until the socket has taken everything. For a worker: the master always reads.
  void flush();
  // The next message that is complete. Throws std::runtime_error when what came is no message of ours.
  std::optional<Message> next();
  // Events for poll.
  short events() const;
  // Whether the other side's kernel has all that was sent, so that it can be read there even if this process
  // is killed: what waits in our kernel goes with us where something unread came in.
  bool delivered() const;
  int fd() const { return fd_.get(); }

 private:
  struct Outgoing {
    Head head;
    SharedBytes payload;
    std::size_t sent = 0;  // of head and payload together
  };
  UniqueFd fd_;
  std::uint64_t largest_;
  Bytes in_;
  std::size_t taken_ = 0;  // bytes of in_ that were given out
  std::deque<Outgoing> out_;
};

// Accepts connections on a free port of `host` (an IP).
class Listener {
 public:
  explicit Listener(const std::string& host);  // throws std::runtime_error
  // When there is one, of somebody unknown: its first message is a short one.
  std::optional<Connection> accept();
  // The last accept() failed because there is no descriptor or memory: the one that waits is still there.
  bool exhausted() const { return exhausted_; }
  void close() { fd_ = UniqueFd(); }  // connections from now on are refused
  int port() const { return port_; }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  int port_ = 0;
  bool exhausted_ = false;
};

}  // namespace empi::queue
