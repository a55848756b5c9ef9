// SPDX-License-Identifier: Apache-2.0
// The master's server thread: workers come, ask, bring results and go.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

#include "runtime/base/constant_time.hpp"
#include "runtime/queue/master.hpp"
#include "runtime/queue/packing.hpp"

namespace empi::queue {
namespace {

constexpr std::size_t kMostStrangers = 256;
constexpr std::int64_t kHelloTakes = 1'000'000'000;  // ns; one that is older may be sent away to make room
constexpr std::int64_t kRest = 100'000'000;          // ns, of the listener
constexpr std::int64_t kDelivery = 2'000'000;        // ns; TCP acknowledges within 40 ms, mostly at once

}  // namespace

UniqueFd Master::make_epoll() {
  UniqueFd fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), "making the master's epoll");
  return fd;
}

void Master::serve() {
  watch(wakeup_.fd(), EPOLLIN, EPOLL_CTL_ADD);
  watch(log_wakeup_.fd(), EPOLLIN, EPOLL_CTL_ADD);
  listens_ = watch(listener_.fd(), EPOLLIN, EPOLL_CTL_ADD);
  for (const auto& [fd, peer] : peers_) watch(fd, peer.watched, EPOLL_CTL_ADD);
  hear_early();
  while (poll_once()) {
  }
}

bool Master::watch(int fd, int events, int operation) {
  epoll_event event{.events = static_cast<std::uint32_t>(events), .data = {.fd = fd}};
  return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

void Master::hear_early() {
  const std::lock_guard lock(mutex_);
  if (early_.empty()) return;
  const auto predecessor = peers_.begin();
  bool open = true;
  for (Message& message : early_) open = open && receive(predecessor->second, std::move(message));
  early_.clear();
  if (!open) drop(predecessor);
}

// False: it is over.
bool Master::poll_once() {
  const bool listen = now_ns() >= resting_until_ns_;
  const int wanted = listen ? static_cast<int>(EPOLLIN) : 0;
  if (listen != listens_ && watch(listener_.fd(), wanted, EPOLL_CTL_MOD)) listens_ = listen;
  std::array<epoll_event, 256> ready;
  const int n = epoll_wait(epoll_.get(), ready.data(), ready.size(), poll_milliseconds());
  if (n < 0 && errno == EINTR) return true;
  const std::lock_guard lock(mutex_);
  bool somebody_comes = false;
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const int fd = event.data.fd;
    if (fd == wakeup_.fd()) {
      wakeup_.clear();
      look_at_all_ = true;
    } else if (fd == log_wakeup_.fd()) {
      log_wakeup_.clear();
    } else if (fd == listener_.fd()) {
      somebody_comes = true;
    } else if (const auto at = peers_.find(fd); at != peers_.end()) {
      to_look_.insert(fd);
      if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0 && !handle(at->second)) drop(at);
    }
  }
  drop_strangers(static_cast<std::int64_t>(patience_ * 1e9));
  if (somebody_comes) accept_new();
  do {
    pump();
    write_out();
  } while (look_at_all_);  // what those had that were dropped
  announce_mirror();
  if (closing_ && nobody_needs_us()) stop_ = true;
  if (stop_) hang_up();
  changed_.notify_all();
  return !stop_;
}

void Master::drop(Peers::iterator at) {
  gone(at->second);
  strangers_.erase(at->first);
  to_look_.erase(at->first);
  peers_.erase(at);
}

void Master::write_out() {
  for (const int fd : std::exchange(to_look_, {})) {
    const auto at = peers_.find(fd);
    if (at == peers_.end()) continue;
    Peer& peer = at->second;
    if (lost_.contains(peer.id) || !peer.connection.write_some()) {
      drop(at);
      continue;
    }
    const short events = peer.connection.events();
    if (events != peer.watched && watch(fd, events, EPOLL_CTL_MOD)) peer.watched = events;
  }
}

// Somebody has come, is going or has gone, or there are tasks again.
void Master::size_changes() {
  look_at_all_ = true;
  present_.reset();
}

void Master::say(Peer& peer, Head head, SharedBytes payload) {
  peer.connection.send(head, std::move(payload));
  to_look_.insert(peer.connection.fd());
}

void Master::say(Peer& peer, Head head, Bytes payload) {
  say(peer, head, std::make_shared<const Bytes>(std::move(payload)));
}

// Workers that are still on their way from the master before come for the results here.
bool Master::nobody_needs_us() const {
  return !has_predecessor_ && expected_.empty() &&
         std::ranges::none_of(peers_, [](const auto& p) { return p.second.welcome; });
}

// Whoever connects now, or waits for a welcome, would wait until this process ends: nobody answers any more.
void Master::hang_up() {
  peers_.clear();
  strangers_.clear();
  listener_.close();
}

// Strangers and a listener that rests are looked after from time to time, and nobody tells us that a kernel
// has got what was sent; all else wakes us by itself.
int Master::poll_milliseconds() const {
  if (mirror_is_news_) return static_cast<int>(kDelivery / 1'000'000);
  const bool waits = now_ns() < resting_until_ns_ || !strangers_.empty();
  return waits ? static_cast<int>(kRest / 1'000'000) : -1;
}

void Master::drop_strangers(std::int64_t older_than_ns) {
  const std::int64_t now = now_ns();
  std::erase_if(strangers_, [&](int fd) {
    const auto at = peers_.find(fd);
    if (now - at->second.since_ns <= older_than_ns) return false;
    peers_.erase(at);
    return true;
  });
}

void Master::accept_new() {
  for (;;) {
    if (strangers_.size() >= kMostStrangers) drop_strangers(kHelloTakes);
    const bool room = strangers_.size() < kMostStrangers;
    auto connection = room ? listener_.accept() : std::nullopt;
    if (!connection) {
      if (!room || listener_.exhausted()) resting_until_ns_ = now_ns() + kRest;
      return;
    }
    const int fd = connection->fd();
    Peer peer(std::move(*connection));
    peer.since_ns = now_ns();
    if (!watch(fd, peer.watched, EPOLL_CTL_ADD)) continue;  // there is no memory for it
    strangers_.insert(fd);
    peers_.emplace(fd, std::move(peer));
  }
}

void Master::patience_with_strangers(double seconds) {
  const std::lock_guard lock(mutex_);
  patience_ = seconds;
}

// False: the peer is gone, or must go.
bool Master::handle(Peer& peer) {
  const bool open = peer.connection.read_some();
  try {
    while (auto message = peer.connection.next())
      if (!receive(peer, std::move(*message))) return false;
  } catch (const std::exception& error) {  // also one that there is no memory for
    return refuse(peer, error.what());
  }
  return open;
}

bool Master::receive(Peer& peer, Message message) {
  const Head& head = message.head;
  if (!peer.welcome && !peer.predecessor) return head.kind == Kind::Hello && greet(peer, message);
  switch (head.kind) {
    case Kind::Enter:
      peer.phase = {head.phase, head.first, head.count};
      peer.knows_until = head.phase;
      return true;
    case Kind::Done:
      if (active_ && head.phase == phase_.number)
        record(peer.id, message.tasks(), head.times, message.payload);
      return true;
    case Kind::Bye:
      peer.leaving = changed_size_ = true;
      size_changes();
      if (handing_ == Handing::Moving) return true;  // it has gone over, with what it has
      if (peer.id == successor_) withdraw_offer();
      if (peer.connection.fd() == mirror_) drop_mirror();
      queue_.give_back(peer.id);
      if (mirrored()) log_.went(peer.id);
      say(peer, {.kind = Kind::Goodbye});
      return true;
    case Kind::Ready:
      on_ready(peer, message);
      return true;
    case Kind::Mirrors:
      on_mirrors(peer, message);
      return true;
    case Kind::Built: {
      Unpacker in(message.payload);
      const std::string name = in.text();
      on_built(peer.id, name, in.text());
      return true;
    }
    case Kind::Forward: {
      Unpacker in(message.payload);
      const WorkerId worker = in.text();
      if (active_ && head.phase == phase_.number) record(worker, message.tasks(), head.times, in.rest());
      return true;
    }
    case Kind::HandedOver:
      return false;
    default:
      throw std::runtime_error("worker " + peer.id + " sent a message that only a master sends");
  }
}

bool Master::greet(Peer& peer, const Message& message) {
  Unpacker in(message.payload);
  if (!constant_time_equal(address_.key, in.text())) return false;
  peer.connection.trust();
  strangers_.erase(peer.connection.fd());
  size_changes();
  peer.id = in.text();
  if (lost_.contains(peer.id)) return false;
  if (handing_ >= Handing::Moving) {
    peer.welcome = true;
    move(peer);
    return true;
  }
  const auto newcomer = static_cast<Newcomer>(message.head.first);
  peer.welcome = true;
  peer.informed = newcomer != Newcomer::Joiner;
  if (newcomer == Newcomer::Member) first_known_.insert(peer.id);
  changed_size_ = changed_size_ || newcomer != Newcomer::Member;
  say(peer, {.kind = Kind::Welcome}, successor());
  peer.given = in.list<std::vector<Range>>();
  if (!in.rest().empty()) peer.pod = in.text();
  if (mirrored()) log_.came(peer.id);
  if (!has_predecessor_) expected_.erase(peer.id);
  if (newcomer != Newcomer::Moved) return true;
  expected_.erase(peer.id);
  peer.knows_until = message.head.phase;
  if (!has_predecessor_) {  // of one that is lost: what it had done besides may not have come to us
    if (message.head.phase != phase_.number) peer.given.clear();
    queue_.keep_only(peer.id, peer.given);
    if (mirrored()) log_.kept(peer.id, peer.given);
  }
  for (const auto& [phase, results] : unheard_)
    if (phase.number >= message.head.phase) send_results(peer, phase, results);
  return true;
}

void Master::disagree(Peer& peer) {
  error_ = "worker " + peer.id + " is in a phase of " + peer.phase.text() + ", the master in one of " +
           phase_.text() + ": every rank must call it with the same arguments";
  peer.leaving = true;
  size_changes();
  say(peer, {.kind = Kind::Refused}, bytes_of(error_));
}

bool Master::refuse(Peer& peer, const std::string& why) {
  peer.connection.send({.kind = Kind::Refused}, bytes_of(why));
  peer.connection.write_some();
  return false;
}

// Its connection is closed: what it had is given to others.
void Master::gone(Peer& peer) {
  if (peer.predecessor) return predecessor_gone();
  if (!peer.welcome) return;
  if (peer.connection.fd() == mirror_) drop_mirror();
  changed_size_ = true;
  size_changes();
  if (peer.id == successor_ && hands_over()) {
    if (handing_ == Handing::Told) {
      handing_ = Handing::Done;
    } else if (handing_ == Handing::Offered) {
      withdraw_offer();
    } else {
      error_ = "worker " + peer.id + " was lost while it took the queue over";
    }
  }
  if (handing_ != Handing::Moving) queue_.give_back(peer.id);
  if (mirrored()) log_.went(peer.id);
  peer.welcome = false;
}

void Master::look_at_everybody() {
  if (!has_predecessor_) {
    forget_lost();
    if (expected_.empty()) unheard_.clear();
  }
  if (closing_) drop_mirror();  // what the master alone does is done
  workers_ = 1 + static_cast<int>(expected_.size());
  for (auto& [fd, peer] : peers_) {
    to_look_.insert(fd);
    if (peer.welcome && !peer.leaving) ++workers_;
    if (closing_ && peer.welcome && !std::exchange(peer.leaving, true)) say(peer, {.kind = Kind::Closed});
  }
  if (closing_) present_.reset();
}

void Master::pump() {
  if (std::exchange(look_at_all_, false)) look_at_everybody();
  choose_mirror();
  looks_ += to_look_.size();
  if (active_ && !announced_ && !hands_over()) {
    for (const int fd : to_look_)
      if (const auto at = peers_.find(fd); at != peers_.end() && at->second.welcome && !at->second.leaving)
        top_up(at->second);
    const bool world = world_is_ready();
    if (queue_.finished() && all_known() && world && mirror_has_all()) announce();
  }
  // Not while a world is built: that is at the phase's end.
  const bool all_here = has_predecessor_ || expected_.empty();
  if (handing_ == Handing::Wanted && active_ && !announced_ && all_known() && all_here && proposed_.empty())
    offer();
  if (hands_over()) send_forwards();
  if (handing_ == Handing::Moving) finish_hand_over();
  tell_mirror();
}

// Values to a joiner, chunks to everybody who is in the phase.
void Master::top_up(Peer& peer) {
  if (!peer.informed) {
    if (!proposed_.empty()) return;  // in the next phase: there is nothing to do in this one any more
    say(peer, {.kind = Kind::Values, .phase = phase_.number}, Bytes(values_));
    peer.informed = true;
    peer.knows_until = phase_.number;
    present_.reset();
  }
  if (peer.phase.number != phase_.number) return;
  if (peer.phase != phase_) return disagree(peer);
  while (const auto chunk = queue_.take(peer.id, workers_)) {
    if (mirrored()) log_.took(peer.id, workers_);
    if (has_predecessor_) peer.given.push_back(*chunk);
    say(peer, {.kind = Kind::Work, .phase = phase_.number, .first = chunk->first, .count = chunk->count});
  }
}

bool Master::all_known() const {
  std::size_t known = first_known_.size();
  for (const WorkerId& id : lost_)
    if (!first_known_.contains(id)) ++known;
  return known >= others_;
}

void Master::announce() {
  others_ = 0;
  announced_ = true;
  announced_workers_ = static_cast<int>(present().size() + expected_.size());
  announced_changed_ = changed_size_;
  const SharedBytes results = results_;
  if (has_predecessor_ || !expected_.empty()) unheard_.emplace_back(phase_, results);
  waited_ = finished_ns_ != 0 && !proposed_.empty() ? static_cast<double>(now_ns() - finished_ns_) * 1e-9 : 0;
  adopt_world();
  for (auto& [fd, peer] : peers_)
    if (peer.welcome && peer.informed && !peer.leaving) send_results(peer, phase_, results);
}

void Master::send_results(Peer& peer, const Phase& phase, const SharedBytes& results) {
  say(peer,
      {.kind = Kind::Results,
       .phase = phase.number,
       .first = announced_changed_ ? 1 : 0,
       .count = announced_workers_,
       .times = {.seconds = waited_}},
      results);
}

}  // namespace empi::queue
