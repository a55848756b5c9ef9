// SPDX-License-Identifier: Apache-2.0
// Quirk revoke-threads: one thread revokes a communicator and finds the connection of a dead process broken
// while another one, that makes progress, reads the connection's end: each waits for what the other holds.
// Two ranks, over TCP. When the two meet is decided here. `ours`: one thread does both.
#include <dlfcn.h>
#include <signal.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

std::atomic<bool> g_meet{false}, g_reads_the_end{false}, g_writes{false};

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

void wait_for(const std::atomic<bool>& flag) {
  for (int turn = 0; turn < 300 && !flag; ++turn) usleep(10'000);
}

}  // namespace

// In place of libc's, also for libopen-pal: inside of the event of the connection.
extern "C" ssize_t readv(int descriptor, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("readv");
  const ssize_t bytes = real(descriptor, parts, count);
  const int error = errno;
  if (g_meet && (bytes == 0 || (bytes < 0 && error == ECONNRESET))) {
    g_reads_the_end = true;
    wait_for(g_writes);
  }
  errno = error;
  return bytes;
}

// With the lock of sending. The first write to a connection whose peer is gone may seem to succeed; the next
// one does not.
extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (!g_meet || !g_reads_the_end) return real(descriptor, parts, count);
  g_writes = true;
  usleep(200'000);  // the reader goes on to that lock
  errno = EPIPE;
  return -1;
}

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  signal(SIGPIPE, SIG_IGN);
  const MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (quirk::rank_of(MPI_COMM_WORLD) == 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
  }
  g_meet = !ours;
  MPI_Barrier(MPI_COMM_WORLD);
  if (ours) {
    quirk::progress_until(.5, [] { return false; });
    if (MPIX_Comm_revoke(comm) == MPI_SUCCESS) quirk::say_ours_holds();
    quirk::leave();
  }
  const quirk::Helper progress([] { return quirk::progress_until(60, [] { return false; }) ? 0 : 1; });
  wait_for(g_reads_the_end);
  const quirk::Helper revoker([comm] { return MPIX_Comm_revoke(comm); });
  for (int turn = 0; turn < 150 && !revoker.back(); ++turn) usleep(10'000);
  quirk::say(!revoker.back());
  quirk::leave();
}
