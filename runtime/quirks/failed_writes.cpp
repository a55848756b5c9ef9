// SPDX-License-Identifier: Apache-2.0
// Quirk failed-writes: a rank that finds the connection of a dead one broken, while a large message to it is
// under way by its PUT protocol, waits for a lock that it holds itself. Two ranks, over TCP. When the first
// of them writes is decided here, so that it is after the death. `ours`: the same without that protocol.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>

#include <cstring>
#include <vector>

#include "runtime/quirks/quirk.hpp"

namespace {

constexpr std::size_t kMessage = 64 << 20, kUnderWay = 1 << 20;  // bytes

std::atomic<bool> g_waits{false}, g_dies{false};
std::atomic<std::size_t> g_written{0}, g_read{0};

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of libc's, also for libopen-pal.
extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (g_waits && g_written > kUnderWay) {
    pollfd peer{descriptor, POLLRDHUP, 0};
    poll(&peer, 1, 10'000);
  }
  const ssize_t written = real(descriptor, parts, count);
  if (written > 0) g_written += static_cast<std::size_t>(written);
  return written;
}

extern "C" ssize_t readv(int descriptor, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("readv");
  const ssize_t bytes = real(descriptor, parts, count);
  if (bytes > 0 && g_dies) g_read += static_cast<std::size_t>(bytes);
  if (g_read > kUnderWay) raise(SIGKILL);
  return bytes;
}

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  signal(SIGPIPE, SIG_IGN);
  static std::vector<char> bytes(kMessage);
  const auto size = static_cast<int>(bytes.size());
  MPI_Barrier(MPI_COMM_WORLD);
  if (quirk::rank_of(MPI_COMM_WORLD) == 1) {
    g_dies = true;
    MPI_Recv(bytes.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    quirk::leave(1);
  }
  g_waits = true;
  const quirk::Helper sender([size] { return MPI_Send(bytes.data(), size, MPI_BYTE, 1, 0, MPI_COMM_WORLD); });
  const int turns = ours ? 1500 : 200;
  for (int turn = 0; turn < turns && !sender.back(); ++turn) usleep(10'000);
  if (ours && sender.back() && sender.result() != MPI_SUCCESS) quirk::say_ours_holds();
  if (!ours) quirk::say(!sender.back());
  quirk::leave();
}
