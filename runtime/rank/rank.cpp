// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/rank.hpp"

#include <fcntl.h>
#include <mpi-ext.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "elastic_mpi.h"
#include "runtime/profile/write/counters.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/blocked_search.hpp"
#include "runtime/rank/interposition.hpp"
#include "runtime/rank/mpi_messages.hpp"
#include "runtime/rank/rank_calls.hpp"
#include "runtime/rank/requests.hpp"
#include "runtime/rank/revocation.hpp"
#include "runtime/rank/window.hpp"
#include "runtime/rank/world.hpp"
#include "runtime/rank/world_calls.hpp"

__attribute__((visibility("default"))) int MPIX_ERR_ADAPT_ROLLED_BACK =
    MPI_ERR_OTHER;  // C linkage by its header

namespace empi::rank {

using profile::counting;
using profile::monotonic_ns;

namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

ProcId own_id() {
  const char* nspace = variable("PMIX_NAMESPACE");
  const char* rank = variable("PMIX_RANK");
  return {nspace ? nspace : "", rank ? static_cast<std::uint32_t>(std::strtoul(rank, nullptr, 10)) : 0};
}

// Null when there is none, or it is of another build (said on stderr: the rank runs unobserved).
Page* map_page(const char* file) {
  const int fd = open(file, O_RDWR | O_CLOEXEC);
  struct stat status{};
  void* memory = MAP_FAILED;
  if (fd >= 0 && fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) >= sizeof(Page))
    memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr,
                 "elastic-mpi: cannot map this rank's page %s (%s; %lld bytes, expected %zu): "
                 "it is not measured and does not adapt\n",
                 file, fd < 0 ? std::strerror(error) : "wrong size or no memory",
                 static_cast<long long>(status.st_size), sizeof(Page));
    return nullptr;
  }
  return static_cast<Page*>(memory);
}

// Open MPI writes to the sockets of ranks that may have died since; that is an error to it, no reason to die
// (quirk broken-pipes).
void ignore_broken_pipes() {
  struct sigaction now{};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

// What MPI_Probe_adapt tells about a change; the caller frees it.
MPI_Info describe(const RankOrder& order) {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return MPI_INFO_NULL;
  PMPI_Info_set(info, "change", order.change.c_str());
  PMPI_Info_set(info, "staying", std::to_string(order.staying_count).c_str());
  PMPI_Info_set(info, "leaving", std::to_string(order.leaving_count).c_str());
  PMPI_Info_set(info, "joining", std::to_string(order.joining_count).c_str());
  return info;
}

}  // namespace

void describe_world(Page& page) {
  int rank = 0, size = 0;
  PMPI_Comm_rank(current_world(), &rank);
  PMPI_Comm_size(current_world(), &size);
  page.world_rank = static_cast<std::uint32_t>(rank);
  page.world_size = static_cast<std::uint32_t>(size);
}

void wait_a_little(int turn) {
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  if (turn < 20) {
    sched_yield();
  } else {
    const timespec length{0, turn < 200 ? 50000 : 500000};
    nanosleep(&length, nullptr);
  }
}

Rank& rank() {
  static Rank& instance = *new Rank;
  return instance;
}

bool is_window_communicator(MPI_Comm comm) { return rank().is_window_communicator(comm); }

bool Rank::is_window_communicator(MPI_Comm comm) {
  const std::shared_ptr<Attempt> current = attempt();
  return current && current->is_window_communicator(comm);
}

std::shared_ptr<Attempt> Rank::attempt() {
  const std::lock_guard lock(mutex_);
  return attempt_;
}

namespace {

// A number that this rank is told, from `least` on; something else is ignored.
std::optional<double> told(const char* name, double least) {
  const char* text = variable(name);
  if (!text) return std::nullopt;
  const double value = std::strtod(text, nullptr);
  if (value >= least) return value;
  std::fprintf(stderr, "elastic-mpi: %s=%s ignored, expected a number of at least %g\n", name, text, least);
  return std::nullopt;
}

}  // namespace

void Rank::start_profile() {
  if (const auto factor = told(names::kSlowdown, 1)) counting().set_slowdown(*factor);
  if (const auto us = told(names::kNetworkDelay, 0)) counting().network().set_delay(*us);
  if (const auto rate = told(names::kNetworkRate, 1)) counting().network().set_rate(*rate);
  const char* file = variable(names::kPage);
  page_ = file ? map_page(file) : nullptr;
  if (!page_) return counting().start(counting().page());
  const ProcId self = own_id();
  page_->pid = getpid();
  page_->rank = self.rank;
  std::strncpy(page_->nspace, self.nspace.c_str(), sizeof page_->nspace - 1);
  describe_world(*page_);
  counting().start(*page_);
  page_->bytes = sizeof(Page);
  // A joiner is no part of the job before its first commit.
  const char* status = variable(names::kStatus);
  joining_ = status && std::strcmp(status, "joining") == 0;
  page_->rank_state.phase.store(joining_ ? RankPhase::Starting : RankPhase::Running);
  std::atomic_ref(page_->magic).store(kPageMagic, std::memory_order_release);
}

void Rank::become_malleable() {
  if (const auto seconds = told(names::kWordSeconds, 1))
    longest_wait_ns_ = static_cast<std::uint64_t>(*seconds * 1e9);
  const char* socket = variable(names::kSocket);
  const char* mode = variable(names::kMode);
  if (!page_ || !socket || (mode && std::strcmp(mode, "malleable") != 0)) {
    joining_ = false;
    return;
  }
  if (const std::string fault = interposition_fault(); !fault.empty()) {
    if (joining_) throw std::runtime_error(fault);
    if (page_->world_rank == 0)
      std::fprintf(stderr, "elastic-mpi: this program cannot adapt and runs with the ranks it has: %s\n",
                   fault.c_str());
    return;
  }
  world_requests().watch();
  link_.connect(socket, own_id());
  if (const int result = PMPI_Comm_dup(MPI_COMM_WORLD, &spare_); result != MPI_SUCCESS)
    throw std::runtime_error("cannot duplicate MPI_COMM_WORLD");
  PMPI_Comm_set_errhandler(spare_, MPI_ERRORS_RETURN);
  expect_blocked_searches();
  PMPI_Add_error_class(&MPIX_ERR_ADAPT_ROLLED_BACK);
  PMPI_Add_error_string(MPIX_ERR_ADAPT_ROLLED_BACK,
                        "the change of the job was rolled back, the old world holds");
  ignore_broken_pipes();
  keep_libevent_apart();
  malleable_ = true;
  begin_probing(false);
  control_.start("empi control", [this] { run_control(); });
  RankReport hello;
  hello.kind = RankReport::Kind::Hello;
  hello.tasks = tasks_;
  link_.send(hello);
}

int Rank::probe(int* adapt_flag, int* proc_status, MPI_Info* info) {
  give(adapt_flag, static_cast<int>(MPI_ADAPT_FALSE));
  give(proc_status, static_cast<int>(MPI_ADAPT_STATUS_STAYING));
  if (info) *info = MPI_INFO_NULL;
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;  // the page has one writer
  counting().pass();
  const std::uint64_t now = counting().clock().at_ns(counting().clock().now());
  if (malleable_) watch_cost();
  const bool undisturbed = !malleable_ || !page_->control.changing.load(std::memory_order_relaxed);
  if (const auto duration = iterations_.probe(now, undisturbed))
    counting().add_iteration(static_cast<double>(*duration) * 1e-9);
  if (left_) [[unlikely]]
    end_leaver();
  if (!malleable_ || joining_) return MPI_SUCCESS;
  if (recovering_.load(std::memory_order_relaxed)) [[unlikely]]
    stop_here();
  if (window_agreed_) [[unlikely]]
    withdraw();
  const std::uint64_t count = page_->rank_state.probes.load(std::memory_order_relaxed) + 1;
  if (!probes_marked_) [[unlikely]]
    mark_probe(count);
  page_->rank_state.probes.store(count);
  const std::uint64_t word = page_->control.armed.load();
  const std::uint64_t agreed = arm_iteration(word);
  if (arm_state(word) == ArmState::Idle || (agreed != count && agreed != kNextProbe)) [[likely]]
    return MPI_SUCCESS;
  if (!at_agreed_iteration(agreed)) return MPI_SUCCESS;
  const std::shared_ptr<Attempt> current = attempt();
  if (!current) return MPI_SUCCESS;
  window_agreed_ = true;
  give(adapt_flag, static_cast<int>(MPI_ADAPT_TRUE));
  if (current->order.leaving) give(proc_status, static_cast<int>(MPI_ADAPT_STATUS_LEAVING));
  if (info) *info = describe(current->order);
  return MPI_SUCCESS;
}

int Rank::probes_are_aligned() {
  if (malleable_ && !joining_) page_->rank_state.aligned.store(true);
  return MPI_SUCCESS;
}

// Since a start or a commit nobody has probed yet.
void Rank::begin_probing(bool joined) {
  Page::Rank& state = page_->rank_state;
  state.probes.store(0);
  state.joined.store(joined);
  state.aligned.store(false);
  state.communicated.store(false);
  state.first.store(0);
  state.grown_at.store(0);
  state.grown.store(0);
  state.calls_at_first.store(0);
  state.calls_at_second.store(0);
  calls_then_ = counting().calls();
  probes_marked_ = false;
  world_calls.begin(static_cast<int>(page_->world_size));
}

// Where probe `number` stands: of use until there have been more collective calls than before the first one.
void Rank::mark_probe(std::uint64_t number) {
  Page::Rank& state = page_->rank_state;
  const std::uint64_t collectives = world_calls.collectives();
  const std::uint64_t calls = counting().calls() - calls_then_;
  if (number == 2) state.calls_at_second.store(calls);
  if (number == 1) {
    state.calls_at_first.store(calls);
    state.first.store(collectives);
    state.communicated.store(world_calls.communicated());
  } else if (collectives > state.first.load(std::memory_order_relaxed)) {
    state.grown.store(collectives);
    state.grown_at.store(number);
    probes_marked_ = true;
    world_calls.end();
  }
}

// The program was told to adapt and has not begun (a master without tasks left, say): so nobody is to.
void Rank::withdraw() {
  window_agreed_ = false;
  page_->control.armed.store(arm_word(kNextProbe, ArmState::Idle));
  const std::shared_ptr<Attempt> current = attempt();
  if (!current) return;
  revoke(current->cancel("the program did not begin to adapt", false).revoked);
  iterations_.change_dropped();
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.change = current->order.change;
  report.ok = false;
  report.error =
      "MPI_Probe_adapt said that the program was to adapt, and it did not call MPI_Comm_adapt_begin";
  link_.send(report);
}

// A leaver that has not left its loop (decision R5'): what comes after the loop is for those who stay.
void Rank::end_leaver() {
  finalize();
  std::exit(0);
}

// The cost of a change: from the order to build until some iterations after the commit.
void Rank::watch_cost() {
  const std::uint64_t begun = changes_begun_.load(std::memory_order_relaxed);
  if (begun != costed_) [[unlikely]] {
    costed_ = begun;
    return iterations_.change_begins(begun);
  }
  if (iterations_.change() == 0) [[likely]]
    return;
  // Given up before its window: what it took is the roll back's cost, and iterations are as before.
  if (changes_given_up_.load(std::memory_order_relaxed) == costed_) return iterations_.change_dropped();
  if (const auto lost = iterations_.lost_ms()) {
    RankReport report;
    report.kind = RankReport::Kind::Adapted;
    report.change = costed_change_;
    report.lost_ms = *lost;
    link_.send(report);
  }
}

// At the proposed iteration: waits until the proposal holds (true) or is withdrawn (false).
bool Rank::at_agreed_iteration(std::uint64_t count) {
  const std::uint64_t start = monotonic_ns();
  bool agreed = false;
  counting().begin_adapt();
  page_->rank_state.phase.store(RankPhase::WaitingAtIteration);
  for (int turn = 0;; ++turn) {
    const std::uint64_t word = page_->control.armed.load();
    agreed = word == arm_word(count, ArmState::Confirmed);
    if (agreed || word != arm_word(count, ArmState::Armed)) break;
    if (monotonic_ns() - start > longest_wait_ns_) {
      std::fprintf(
          stderr,
          "elastic-mpi: waited %llu s at iteration %llu for the agent to confirm or withdraw a change\n",
          static_cast<unsigned long long>(longest_wait_ns_ / 1000000000),
          static_cast<unsigned long long>(count));
      PMPI_Abort(current_world(), 1);
    }
    wait_a_little(turn);
  }
  page_->rank_state.phase.store(RankPhase::Running);
  const std::uint64_t waited = monotonic_ns() - start;
  counting().add_adapt(waited);
  wait_ms_ = agreed ? static_cast<double>(waited) * 1e-6 : 0;
  return agreed;
}

}  // namespace empi::rank
