// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/end_signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <utility>

namespace emj::cli {

namespace {

using Clock = local::EventLoop::Clock;

// timeout(1) and service managers signal a process and its group: that is one signal, not two.
constexpr std::chrono::milliseconds kSameSignal{500};

sigset_t end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void block_end_signals() {
  const sigset_t signals = end_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void watch_end_signals(local::EventLoop& loop, std::function<void()> end, std::function<void(int)> kill) {
  const sigset_t signals = end_signals();
  local::UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw std::runtime_error("cannot wait for signals");
  loop.watch(std::move(fd), [end = std::move(end), kill = std::move(kill),
                             first = std::optional<Clock::time_point>()](int descriptor) mutable {
    signalfd_siginfo info{};
    while (read(descriptor, &info, sizeof info) == sizeof info) {
      const auto time = Clock::now();
      if (!first) {
        first = time;
        end();
      } else if (time - *first >= kSameSignal) {
        kill(static_cast<int>(info.ssi_signo));
      }
    }
    return true;
  });
}

}  // namespace emj::cli
