// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/waiting.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/failed_requests.hpp"
#include "runtime/rank/found.hpp"
#include "runtime/rank/pause.hpp"

namespace empi::rank {

namespace {

// Of one thread.
struct Wait {
  int sockets =
      -1;  // the epoll set that Open MPI has looked at last in a call that may block; -1: in none so far
  bool news = false;         // something was there, since the thread gave way last
  unsigned passes = 0;       // of Open MPI's through its transports
  unsigned passes_then = 0;  // when the thread gave way last
  Pause pause;
};
thread_local constinit Wait wait_here __attribute__((tls_model("initial-exec")));

int count_pass() {
  ++wait_here.passes;
  return 0;
}

// What Open MPI calls at the end of a pass in which no transport has told of anything. Memory tells, sockets
// do not.
void give_way() {
  const profile::ThreadState& thread = profile::thread_state;
  Wait& wait = wait_here;
  const unsigned passes = wait.passes - std::exchange(wait.passes_then, wait.passes);
  const bool news = std::exchange(wait.news, false);
  const Pause::Duration pause = thread.may_block ? wait.pause.after(passes, news, thread.blocking_calls,
                                                                    std::chrono::steady_clock::now())
                                                 : Pause::kYield;
  if (pause == Pause::kNone) return;
  if (pause == Pause::kYield || wait.sockets < 0) {
    sched_yield();
    return;
  }
  pollfd sockets{wait.sockets, POLLIN, 0};
  const timespec most{0, pause.count()};
  ppoll(&sockets, 1, &most, nullptr);
}

}  // namespace

void wait_asleep() {
  if (std::getenv("OMPI_MCA_threads_pthreads_yield_strategy")) return;
  const bool* yields = found<const bool*>("opal_progress_yield_when_idle");
  auto* yield = found<void (**)()>("opal_threads_pthreads_yield_fn");
  if (!yields || !*yields || !yield || !failed_requests().call_in_progress) return;
  failed_requests().call_in_progress(count_pass);
  *yield = give_way;
}

}  // namespace empi::rank

// By which libevent looks at Open MPI's sockets: with 0, while a call makes progress. (Where it looks by
// other means, ranks never sleep.)
extern "C" __attribute__((visibility("default"))) int epoll_wait(int set, epoll_event* events, int most,
                                                                 int milliseconds) {
  static const auto next = empi::rank::stood_before<decltype(&epoll_wait)>("epoll_wait");
  const int count = next(set, events, most, milliseconds);
  if (milliseconds == 0 && empi::profile::thread_state.may_block) {
    empi::rank::wait_here.sockets = set;
    empi::rank::wait_here.news |= count > 0;
  }
  return count;
}
