// SPDX-License-Identifier: Apache-2.0
// elastic-mpi-sidecar: serves what the ranks of this pod measure.
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <cerrno>
#include <cstdio>

#include "runtime/profile/read/window_reader.hpp"
#include "runtime/sidecar/options.hpp"
#include "runtime/sidecar/server.hpp"

namespace {

// Waits for the end of the current window; true when a signal asks to end.
bool asked_to_stop(const sigset_t& signals, std::int64_t width_ns) {
  using namespace empi::profile;
  const std::int64_t boundary = next_boundary(wall_ns(), width_ns);
  for (;;) {
    const std::int64_t left = boundary - wall_ns();
    if (left <= 0 || left > width_ns) return false;  // also when the clock was set back
    const timespec wait{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    if (::sigtimedwait(&signals, nullptr, &wait) > 0) return true;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace empi::sidecar;
  spdlog::set_default_logger(spdlog::stderr_color_mt("sidecar"));
  const Options options = parse_options(argc, argv);
  // Before any thread is started, so that none takes the signal elsewhere.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    Server server(options);
    std::printf("listening on %s:%d\n", options.listen.c_str(), server.port());
    std::fflush(stdout);
    while (!asked_to_stop(signals, std::int64_t{options.window_millis} * 1'000'000)) server.end_window();
    server.end_window();  // the last figures, for whoever still asks
  } catch (const std::exception& e) {
    spdlog::error("{}", e.what());
    return 1;
  }
  return 0;
}
