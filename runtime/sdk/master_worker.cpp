// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker: MPI brings the ranks together, runtime/queue does the rest.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "elastic_mpi/comm.hpp"
#include "elastic_mpi/replicate.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/queue_api.h"
#include "runtime/sdk/master_worker_state.hpp"

namespace elastic {
namespace {

using empi::queue::Bytes;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "nspace/rank" under an agent, as the agents name ranks.
std::string own_id(int rank) {
  const std::string nspace = variable("PMIX_NAMESPACE"), number = variable("PMIX_RANK");
  return nspace.empty() || number.empty() ? "rank " + std::to_string(rank) : nspace + "/" + number;
}

// Of IPv4 where it has one: an address of IPv6 may be good on its own link only.
std::string address_of_host_name() {
  char name[256] = "", text[NI_MAXHOST] = "";
  gethostname(name, sizeof name - 1);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  int code = getaddrinfo(name, nullptr, &wanted, &found);
  if (code == 0) {
    const addrinfo* chosen = found;
    while (chosen && chosen->ai_family != AF_INET) chosen = chosen->ai_next;
    if (!chosen) chosen = found;
    code = getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
  }
  if (code != 0)
    throw Error("cannot find the address of this host '" + std::string(name) + "': " + gai_strerror(code) +
                ". Set " + empi::names::kPodAddress + " to an address that the other ranks reach it by");
  return text;
}

// The IP that the other ranks reach this one by. Collective over the world.
std::string own_host() {
  MPI_Comm node = MPI_COMM_NULL;
  int here = 0, everywhere = 0;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "finding out which ranks share a node");
  MPI_Comm_size(node, &here);
  MPI_Comm_size(MPI_COMM_WORLD, &everywhere);
  MPI_Comm_free(&node);
  if (const std::string given = variable(empi::names::kPodAddress); !given.empty()) return given;
  return here == everywhere ? "127.0.0.1" : address_of_host_name();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The agent ends a rank whose job has failed, and names the cause; it would be hidden if this rank spoke
// first.
void wait_for_the_agent() {
  if (!variable(empi::names::kSocket).empty()) std::this_thread::sleep_for(std::chrono::seconds(10));
}

}  // namespace

void MasterWorker::State::hear(int what, const std::string& text) {
  const std::lock_guard lock(mutex);
  if (what == MPIX_TASKS_ATTACH) {
    attach_to = text;
    ordered.notify_all();
  } else if (what == MPIX_TASKS_LEAVE) {
    leave_ids = lines_of(text);
    if (participant) leave_as_told();
  } else if (what == MPIX_TASKS_WORLD) {
    const std::size_t end = text.find('\n');
    if (participant)
      participant->world_built(text.substr(0, end), end == text.npos ? "" : text.substr(end + 1));
  } else if (what == MPIX_TASKS_QUEUE_LOST) {
    const std::vector<std::string> ids = lines_of(text);  // the first is the next master
    for (std::size_t i = 1; participant && i < ids.size(); ++i) participant->lost(ids[i], ids.front());
  } else if (participant) {
    for (const std::string& id : lines_of(text)) participant->lost(id);
  }
}

// As time of adaptation, like that of windows in other programs.
void MasterWorker::State::report_changes() {
  const std::int64_t now = participant->change_ns();
  if (now > change_ns) MPIX_Tasks_spent_on_changes(now - std::exchange(change_ns, now));
}

void MasterWorker::State::leave_as_told() {
  if (!leave_ids.empty()) participant->leave({leave_ids.begin() + 1, leave_ids.end()}, leave_ids.front());
}

void MasterWorker::State::make_participant(const std::string& id, const std::string& host) {
  const std::lock_guard lock(mutex);
  // Without an agent nobody says that the master is lost: the queue is not mirrored.
  participant.emplace(id, host, variable(empi::names::kPodName));
  participant->on_progress([](const empi::queue::Phase& phase, const empi::queue::MasterFigures& f) {
    MPIX_Task_queue_adapt(static_cast<long long>(phase.number), f.total, f.completed,
                          std::min(f.queued, f.total - f.completed));
  });
  participant->on_mirror([](const std::string& id) { MPIX_Tasks_queue_mirrored(id.c_str()); });
  leave_as_told();
}

// Rank 0 keeps the queue; the others learn by MPI where it is. Collective over the ranks that start the job.
void MasterWorker::State::start(int rank) {
  starts = true;
  std::vector<std::byte> address;
  participant->on_master([&](const std::string& text) {
    address = empi::queue::bytes_of(text);
    MPIX_Tasks_queue_at(text.c_str());
  });
  if (rank == 0) participant->be_master(workers - 1);
  broadcast_bytes(MPI_COMM_WORLD, 0, address);
  if (rank != 0)
    participant->be_worker({reinterpret_cast<const char*>(address.data()), address.size()}, false);
}

// A joiner: the agent says where the queue is.
void MasterWorker::State::join() {
  joining = true;
  values_known = false;
  changed = true;
  std::unique_lock lock(mutex);
  ordered.wait(lock, [this] { return !attach_to.empty(); });
  const std::string address = attach_to;
  lock.unlock();
  try {
    participant->be_worker(address, true);
  } catch (const std::exception& e) {
    MPIX_Tasks_attached(e.what());  // does not come back
    throw;
  }
  MPIX_Tasks_attached(nullptr);
}

MasterWorker::MasterWorker(int& argc, char**& argv) : state_(std::make_unique<State>()) {
  int status = MPI_ADAPT_STATUS_NEW;
  State& s = *state_;
  MPIX_Tasks_declare(
      [](void* self, int what, const char* text) { static_cast<State*>(self)->hear(what, text); }, &s);
  check_mpi(MPI_Init_adapt(&argc, &argv, &status), "MPI_Init_adapt");
  s.passing_exceptions = std::uncaught_exceptions();
  MPI_Comm_size(MPI_COMM_WORLD, &s.workers);
  const int rank = rank_of(MPI_COMM_WORLD);
  s.make_participant(own_id(rank), own_host());
  try {
    if (status == MPI_ADAPT_STATUS_JOINING)
      s.join();
    else
      s.start(rank);
  } catch (const std::exception& e) {
    throw Error(std::string("elastic::MasterWorker: ") + e.what());
  }
  s.participant->on_master([](const std::string& text) { MPIX_Tasks_queue_at(text.c_str()); });
}

MasterWorker::~MasterWorker() {
  if (std::uncaught_exceptions() > state_->passing_exceptions) {
    std::fprintf(stderr,
                 "elastic::MasterWorker: ending the job, an exception leaves the program's main part\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  State& s = *state_;
  try {
    s.participant->finish();
  } catch (const std::exception& e) {
    wait_for_the_agent();
    std::fprintf(stderr, "elastic::MasterWorker: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPIX_Tasks_declare(nullptr, nullptr);
  // A joiner that came too late was not asked to leave: nobody waits for its departure.
  if (s.left && !s.leave_ids.empty()) MPIX_Tasks_left();
  if (s.changed && !s.uses_world) MPIX_Tasks_changed();
  s.participant.reset();
  MPI_Finalize();
}

void MasterWorker::use_world() {
  state_->uses_world = true;
  state_->participant->use_world({
      .build =
          [](const std::string& name, const std::vector<std::string>& ranks) {
            std::string ids;
            for (const std::string& rank : ranks) ids += rank + "\n";
            MPIX_Tasks_build_world(name.c_str(), ids.c_str());
          },
      .adopt =
          [](const std::string& name) {
            check_mpi(MPIX_Tasks_adopt_world(name.c_str()), "adopting the world at the end of a phase");
          },
  });
}

void MasterWorker::add(std::unique_ptr<detail::Value> value) { state_->values.push_back(std::move(value)); }

// On a joiner: gives the values that were registered since the last call what has arrived for them.
void MasterWorker::receive_values() {
  State& s = *state_;
  if (s.left || (!s.joining && s.arrived.empty())) return;
  if (!s.values_known) {
    auto bytes = s.participant->await_values();
    s.joining = false;
    s.values_known = true;
    if (!bytes) {
      s.report_changes();
      s.left = true;
      return;
    }
    s.arrived = std::move(*bytes);
  }
  while (s.received < s.values.size()) s.take_one(*s.values[s.received++]);
}

void MasterWorker::State::take_one(detail::Value& value) {
  empi::queue::Unpacker in(std::span<const std::byte>(arrived).subspan(arrived_at));
  std::string theirs = "nothing";
  std::span<const std::byte> bytes;
  if (!in.rest().empty()) {
    theirs = in.text();
    bytes = in.block();
  }
  if (theirs != value.kind())
    throw Error("elastic::MasterWorker::replicate: this rank registered a " + value.kind() +
                " where the master has " + theirs +
                "; all ranks, joining ones too, must register the same in the same order");
  arrived_at = arrived.size() - in.rest().size();
  value.stage(bytes);
  value.accept();
}

Bytes MasterWorker::State::pack() const {
  empi::queue::Packer out;
  for (const auto& value : values) {
    out.put(value->kind());
    out.block(value->bytes());
  }
  return out.take();
}

std::span<const std::byte> MasterWorker::phase(std::int64_t count, std::int64_t result_bytes,
                                               const std::function<void(std::int64_t, std::byte*)>& task) {
  State& s = *state_;
  if (count < 0 || result_bytes < 0)
    throw Error("elastic::MasterWorker: a phase of " + std::to_string(count) + " tasks with results of " +
                std::to_string(result_bytes) + " bytes: expected no negative numbers");
  s.results.reset();
  receive_values();
  if (s.left) return {};
  if (s.checkpoints) s.checkpoints->before_phase(*this);
  // Reports a task as a unit of work, and lets an emulated slow node take its time.
  const auto counted = [&task, &s](std::int64_t index, std::byte* result) {
    s.report_changes();
    const double start = MPI_Wtime();
    MPIX_Task_begin_adapt();
    task(index, result);
    MPIX_Task_end_adapt();
    s.busy += MPI_Wtime() - start;
    MPIX_Progress_adapt(1, -1);
  };
  empi::queue::Outcome outcome;
  try {
    outcome = s.participant->phase(count, result_bytes, counted, [&s] { return s.pack(); });
  } catch (const empi::queue::MasterGone& e) {
    wait_for_the_agent();
    std::fprintf(stderr, "elastic::MasterWorker: %s\n", e.what());
    throw;
  } catch (const std::exception& e) {
    // Said here: the destructor, which ends the job, comes before any handler around it.
    std::fprintf(stderr, "elastic::MasterWorker: an exception ends the phase: %s\n", e.what());
    throw;
  }
  s.report_changes();
  MPIX_Task_queue_adapt(0, 0, 0, 0);  // no phase is in work
  s.left = outcome.left;
  if (s.left) return {};
  ++s.phases;
  s.workers = outcome.workers;
  s.changed = s.changed || outcome.changed;
  s.results = std::move(outcome.results);
  return *s.results;
}

bool MasterWorker::master() const { return !state_->left && state_->participant->is_master(); }
bool MasterWorker::joining() const { return state_->joining; }
bool MasterWorker::left() const { return state_->left; }
int MasterWorker::workers() const { return state_->workers; }
bool MasterWorker::changed() const { return state_->changed; }
double MasterWorker::busy_seconds() const { return state_->busy; }
double MasterWorker::change_seconds() const {
  return static_cast<double>(state_->participant->change_ns()) * 1e-9;
}
double MasterWorker::idle_seconds() const { return state_->participant->idle_seconds(); }

}  // namespace elastic
