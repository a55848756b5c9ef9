// SPDX-License-Identifier: Apache-2.0
// Quirk broken-pipes: Open MPI writes to the socket of a rank that has died and does not keep SIGPIPE away,
// which ends the writer. Two ranks, over TCP. The kernel takes the message in two parts here, and between
// them comes the news. `ours`: the signal is ignored, as in every malleable rank, and the death is an error.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

std::atomic<bool> g_waits{false}, g_wrote{false};

void wait_for(int descriptor, short news) {
  pollfd peer{descriptor, news, 0};
  poll(&peer, 1, 10'000);
}

}  // namespace

// In place of libc's, also for libopen-pal.
extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = reinterpret_cast<ssize_t (*)(int, const iovec*, int)>(dlsym(RTLD_NEXT, "writev"));
  if (!g_waits.exchange(false)) return real(descriptor, parts, count);
  wait_for(descriptor, POLLRDHUP);
  const iovec first{parts->iov_base, 1};
  const ssize_t written = real(descriptor, &first, 1);
  wait_for(descriptor, 0);  // for the error that answers it
  g_wrote = true;
  const iovec rest{static_cast<char*>(parts->iov_base) + 1, parts->iov_len - 1};
  return written == 1 ? 1 + real(descriptor, &rest, 1) : written;
}

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  signal(SIGPIPE, ours ? SIG_IGN : SIG_DFL);
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (quirk::rank_of(MPI_COMM_WORLD) == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  g_waits = true;
  MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  int done = 0, code = MPI_SUCCESS;
  quirk::progress_until(5, [&] {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0 || code != MPI_SUCCESS;
  });
  if (ours && g_wrote && code != MPI_SUCCESS) quirk::say_ours_holds();
  if (!ours && g_wrote) quirk::say(false);
  quirk::leave();
}
