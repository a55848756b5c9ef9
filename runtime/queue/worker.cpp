// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/worker.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <stdexcept>

#include "runtime/queue/packing.hpp"

namespace empi::queue {
namespace {

constexpr double kConnectSeconds = 30;
constexpr std::int64_t kLookNs = 1'000'000;  // between tasks: news are looked for so often

}  // namespace

Worker::Worker(WorkerId self, const Address& master, Newcomer how, std::string host, std::string pod)
    : self_(std::move(self)),
      master_(master),
      connection_(Connection::to(master, kConnectSeconds)),
      how_(how),
      host_(std::move(host)),
      pod_(std::move(pod)) {
  introduce(how, 0);
  if (how == Newcomer::Joiner) unsettled_ns_ = now_ns();
}

Worker::~Worker() {
  if (!lost_) connection_.flush();
}

std::string Worker::whereabouts() const { return master_.host + ":" + std::to_string(master_.port); }

// Says who we are and what we have, and waits until the master knows.
void Worker::introduce(Newcomer how, std::uint64_t phase) {
  Packer hello;
  hello.put(master_.key);
  hello.put(self_);
  hello.list(chunks_);
  if (!host_.empty()) hello.put(pod_);
  connection_.send({.kind = Kind::Hello, .phase = phase, .first = static_cast<std::int64_t>(how)},
                   hello.take());
  for (;;) {
    if (const auto message = pop()) {
      if (message->head.kind == Kind::Welcome) return;
      if (message->head.kind == Kind::Moved) return go_to(Address::parse(message->text()));
      throw std::runtime_error("the master at " + whereabouts() + " does not welcome worker " + self_);
    }
    if (lost_)
      throw std::runtime_error("the master at " + whereabouts() + " closed the connection of worker " +
                               self_);
    wait_for(connection_.events(), false);
  }
}

void Worker::wait_for(short events, bool count_idle) {
  pollfd ready[2] = {{connection_.fd(), events, 0}, {wakeup_.fd(), POLLIN, 0}};
  const std::int64_t start = now_ns();
  while (poll(ready, 2, -1) < 0 && errno == EINTR) {
  }
  if (count_idle) idle_.add(now_ns() - start);
  if (ready[1].revents != 0) wakeup_.clear();
  if (!connection_.write_some()) lost_ = true;
}

// Reads what there is. Whether a message is waiting.
bool Worker::take_in() {
  // Also where nothing can be sent any more: what the master said last may be who takes its place.
  if (!heard_all_ && !connection_.read_some(Connection::kAll)) lost_ = heard_all_ = true;
  // What is for the mirror counts in the order in which it was said, a welcome too.
  while (auto message = connection_.next())
    if (!of_mirror(*message) || message->head.kind == Kind::Welcome) inbox_.push_back(std::move(*message));
  return !inbox_.empty();
}

std::optional<Message> Worker::pop() {
  if (inbox_.empty() && !take_in()) return std::nullopt;
  Message message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

void Worker::leave() {
  leave_ = true;
  wakeup_.notify();
}

// Asked between two tasks of a chunk: news other than more work.
bool Worker::stop_now() {
  if (leave_ && !world_in_hand_) return true;
  const std::int64_t now = now_ns();
  if (now - looked_ns_ < kLookNs) return false;
  looked_ns_ = now;
  take_in();
  return lost_ || news_of_losses_ ||
         std::ranges::any_of(inbox_, [](const Message& m) { return m.head.kind != Kind::Work; });
}

std::optional<Worker::Values> Worker::await_values() {
  for (;;) {
    if (leave_) {
      depart();
      return std::nullopt;
    }
    if (auto message = pop()) {
      if (message->head.kind == Kind::Values) {
        how_ = Newcomer::Member;
        return Values{message->head.phase, std::move(message->payload)};
      }
      if (message->head.kind == Kind::Closed) {
        closed_ = true;
        return std::nullopt;
      }
      if (message->head.kind == Kind::Moved) go_to(Address::parse(message->text()));
      continue;
    }
    if (master_is_lost()) {
      if (!take_in()) go_on_without_master();
      continue;
    }
    wait_for(connection_.events(), true);
  }
}

Worker::End Worker::run(const Phase& phase, const Task& task) {
  phase_ = phase;
  if (bye_said_) return depart();
  enter();
  waiting_ns_ = 0;
  for (;;) {
    while (auto message = pop())
      if (auto end = obey(std::move(*message))) return std::move(*end);
    if (master_is_lost()) {
      if (take_in()) continue;  // what it said before we heard of its loss
      if (auto handover = go_on_without_master()) return {{}, std::move(handover)};
      enter();
      continue;
    }
    if (leave_ && !world_in_hand_) return depart();  // else with the next phase: this one is at its end
    report_world();
    if (chunks_.empty()) {
      if (waiting_ns_ == 0) waiting_ns_ = now_ns();
      wait_for(connection_.events(), true);
    } else {
      waiting_ns_ = 0;
      compute_one(task);
    }
  }
}

void Worker::enter() {
  connection_.send(
      {.kind = Kind::Enter, .phase = phase_.number, .first = phase_.tasks, .count = phase_.width});
  connection_.write_some();
  // What follows counts only if there is work: otherwise the phase is near its end, for everybody.
  if (unsettled_ns_ == 0) return;
  const std::int64_t now = now_ns();
  changes_.add(now - std::exchange(unsettled_ns_, chunks_.empty() ? now : 0));
}

void Worker::compute_one(const Task& task) {
  const Range chunk = chunks_.front();
  chunks_.pop_front();
  Portion portion = compute(chunk, phase_.width, task, [this] { return stop_now(); });
  const Range done = portion.tasks;
  if (done.count < chunk.count) chunks_.push_front({done.end(), chunk.end() - done.end()});
  connection_.send({.kind = Kind::Done,
                    .phase = phase_.number,
                    .first = done.first,
                    .count = done.count,
                    .times = portion.times},
                   std::move(portion.results));
  if (!connection_.write_some()) lost_ = true;
}

std::optional<Worker::End> Worker::obey(Message message) {
  switch (message.head.kind) {
    case Kind::Work:
      if (message.head.phase == phase_.number) chunks_.push_back(message.tasks());
      if (unsettled_ns_ != 0) changes_.add(now_ns() - std::exchange(unsettled_ns_, 0));
      return std::nullopt;
    case Kind::Results:
      if (message.head.phase != phase_.number) return std::nullopt;
      chunks_.clear();
      unsettled_ns_ = 0;
      if (waiting_ns_ != 0)  // for a world: of that the master knows how long it took
        changes_.add(
            std::min(now_ns() - waiting_ns_, static_cast<std::int64_t>(message.head.times.seconds * 1e9)));
      world_in_hand_ = false;
      {
        const auto results = std::make_shared<const Bytes>(std::move(message.payload));
        keep_results(results);
        return End{{false, results, static_cast<int>(message.head.count), message.head.first != 0},
                   std::nullopt};
      }
    case Kind::World:
      build_world(message);
      return std::nullopt;
    case Kind::Adopt:
      world_.adopt(message.text());
      return std::nullopt;
    case Kind::Moved:
      // There was work, and the old master gave none out any more.
      if (unsettled_ns_ == 0)
        unsettled_ns_ = waiting_ns_ != 0 && message.head.count > 0 ? waiting_ns_ : now_ns();
      go_to(Address::parse(message.text()));
      enter();
      return std::nullopt;
    case Kind::TakeOver: {
      if (leave_ && !world_in_hand_) return std::nullopt;  // the master will hear it
      const std::int64_t since = now_ns();
      connection_.flush();
      HandoverState state = HandoverState::unpack(message.payload);
      std::vector<Range> in_hand(chunks_.begin(), chunks_.end());
      chunks_.clear();
      lost_ = heard_all_ = true;  // the connection is not ours any more
      mirror_.reset();
      std::vector<Message> early(std::make_move_iterator(inbox_.begin()),
                                 std::make_move_iterator(inbox_.end()));
      return End{{},
                 Handover{.state = std::move(state),
                          .predecessor = std::move(connection_),
                          .in_hand = std::move(in_hand),
                          .early = std::move(early),
                          .since_ns = since}};
    }
    case Kind::Refused:
      throw std::runtime_error(message.text());
    case Kind::Closed:
      throw std::runtime_error("the master's program has ended, this rank's is in a further phase of " +
                               phase_.text());
    default:
      return std::nullopt;
  }
}

// To the next master, with what we have in hand. The old one hears of it when the next one knows us.
void Worker::go_to(const Address& master) {
  mirror_.reset();
  successor_.clear();
  Connection old = std::exchange(connection_, Connection::to(master, kConnectSeconds));
  master_ = master;
  inbox_.clear();
  lost_ = heard_all_ = false;
  introduce(how_ == Newcomer::Joiner ? how_ : Newcomer::Moved, phase_.number);
  old.send({.kind = Kind::Bye});
  old.flush();
}

// Results of what is done are on their way; the rest goes back.
Worker::End Worker::depart() {
  const std::int64_t since = unsettled_ns_ != 0 ? unsettled_ns_ : now_ns();
  chunks_.clear();
  if (!std::exchange(bye_said_, true)) connection_.send({.kind = Kind::Bye, .phase = phase_.number});
  for (;;) {
    if (auto message = pop()) {
      if (message->head.kind == Kind::Goodbye || message->head.kind == Kind::Moved) break;
      // The phase was over before the master heard that we leave, and the others count on us in the world: so
      // this process goes with the next phase.
      const bool phase_is_over = message->head.kind == Kind::Adopt || message->head.kind == Kind::Results;
      if (world_.build && phase_is_over)
        if (auto end = obey(std::move(*message))) return std::move(*end);
      continue;
    }
    if (master_is_lost()) {
      if (take_in()) continue;
      if (successor_.empty()) break;  // the master has ended meanwhile
      try {
        if (auto handover = go_on_without_master()) return {{}, std::move(handover)};
      } catch (const MasterGone&) {
        break;  // so has the one that would have been the next
      }
      connection_.send({.kind = Kind::Bye, .phase = phase_.number});
    }
    wait_for(connection_.events(), false);
  }
  changes_.add(now_ns() - since);
  return {{true, nullptr, 0}, std::nullopt};
}

void Worker::build_world(const Message& message) {
  if (!world_.build)
    throw std::runtime_error(
        "the master's program uses MPI_COMM_WORLD between phases, this rank's has not "
        "said so: every rank must");
  Unpacker in(message.payload);
  const std::string name = in.text();
  world_in_hand_ = true;
  {
    const std::lock_guard lock(world_mutex_);
    world_asked_ = name;
    world_built_.reset();
  }
  world_.build(name, in.list<std::vector<WorkerId>>());
}

void Worker::world_built(const std::string& name, const std::string& error) {
  {
    const std::lock_guard lock(world_mutex_);
    if (name != world_asked_) return;  // the master asks for another one already
    world_built_ = {name, error};
  }
  wakeup_.notify();
}

void Worker::report_world() {
  std::optional<BuiltWorld> built;
  {
    const std::lock_guard lock(world_mutex_);
    built = std::exchange(world_built_, std::nullopt);
  }
  if (!built) return;
  Packer out;
  out.put(built->name);
  out.put(built->error);
  connection_.send({.kind = Kind::Built, .first = built->error.empty() ? 1 : 0}, out.take());
  if (!connection_.write_some()) lost_ = true;
}

}  // namespace empi::queue
