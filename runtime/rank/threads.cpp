// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace empi::rank {

namespace {

// Signals belong to the application's threads. Not those that a thread's own fault raises: blocked, the
// kernel would end the process without a word, and nobody sees the stack that MPI's handler prints.
void leave_signals_to_application() {
  sigset_t others;
  sigfillset(&others);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, nullptr);
}

}  // namespace

void Threads::start(const char* name, std::function<void()> work) {
  running_.fetch_add(1, std::memory_order_relaxed);
  try {
    std::thread([this, name, work = std::move(work)]() mutable {
      leave_signals_to_application();
      pthread_setname_np(pthread_self(), name);
      work();
      work = nullptr;  // what it holds goes before the end is told
      running_.fetch_sub(1, std::memory_order_release);
    }).detach();
  } catch (const std::system_error&) {
    running_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

}  // namespace empi::rank
