// SPDX-License-Identifier: Apache-2.0
// Quirk tcp-drops: a connection that comes in while another thread is about to learn of its peer is taken for
// one of a stranger, dropped with a warning, and made again only when there is more to send. Two ranks on two
// pods. The moment is a few microseconds long: here an address that is not the peer's makes it certain.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "runtime/quirks/quirk.hpp"

namespace {

std::atomic<int> g_strangers{0};  // connections that are to seem so

}  // namespace

// In place of libc's, also for libopen-pal.
extern "C" int getpeername(int socket, sockaddr* address, socklen_t* bytes) noexcept {
  using Call = int (*)(int, sockaddr*, socklen_t*);
  static const auto real = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "getpeername"));
  const int result = real(socket, address, bytes);
  if (result == 0 && address->sa_family == AF_INET && g_strangers.fetch_sub(1) > 0)
    reinterpret_cast<sockaddr_in*>(address)->sin_addr.s_addr = htonl(0x7f090909);
  return result;
}

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  if (rank == 0) g_strangers = 1;
  int message = 1, done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) MPI_Isend(&message, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Irecv(&message, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  const auto complete = [&] {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  };
  const bool alone = quirk::progress_until(1.5, complete);
  if (rank == 0) {
    std::printf("%s\n", alone ? "arrives" : "does not arrive by itself");
    std::fflush(stdout);
    MPI_Send(&message, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);  // which makes the connection from this side
  } else {
    MPI_Recv(&message, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) std::printf("%s\n", quirk::progress_until(10, complete) ? "all is well" : "lost");
  MPI_Finalize();
  return 0;
}
