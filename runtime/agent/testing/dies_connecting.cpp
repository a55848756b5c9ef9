// SPDX-License-Identifier: Apache-2.0
// An MPI program whose rank argv[1] is killed while it connects to its agent's PMIx server, at the worst
// moment: all that it had to say is on its way, nobody is there for the answer. Its parent, the agent, is
// stopped meanwhile, so that the moment is the same each time.
#include <mpi.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool g_doomed = false;

bool is_stopped(pid_t process) {
  char path[64], state = 0;
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  std::FILE* file = std::fopen(path, "r");
  if (!file) return false;
  if (std::fscanf(file, "%*d %*s %c", &state) != 1) state = 0;
  std::fclose(file);
  return state == 'T';
}

}  // namespace

// In place of libc's, also for libpmix. The first message of a rank is the one that connects.
extern "C" ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  if (g_doomed) {
    kill(getppid(), SIGSTOP);
    while (!is_stopped(getppid())) {
    }
  }
  const ssize_t sent = sendto(socket, data, bytes, flags, nullptr, 0);
  if (g_doomed) {
    close(socket);
    kill(getppid(), SIGCONT);
    raise(SIGKILL);
  }
  return sent;
}

int main(int argc, char** argv) {
  const char* rank = std::getenv("PMIX_RANK");
  g_doomed = argc > 1 && rank && std::strcmp(rank, argv[1]) == 0;
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
