// SPDX-License-Identifier: Apache-2.0
// A rank at the agreed iteration, whose agent is played here: it goes on when the proposal is withdrawn, and
// ends the job when no word has come for as long as it was told to wait.
#include <elastic_mpi.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/protocol/names.hpp"
#include "runtime/rank/testing/check.hpp"
#include "runtime/rank/testing/shared_page.hpp"

namespace {

using empi::ArmState;
using Clock = std::chrono::steady_clock;

// Where the agent would listen. What the rank sends is not read.
void listen_as_agent() {
  char folder[] = P_tmpdir "/empi-agent.XXXXXX";
  CHECK(mkdtemp(folder));
  const std::string path = std::string(folder) + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  CHECK(listener >= 0 && bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(listen(listener, 1) == 0);
  setenv(empi::names::kSocket, path.c_str(), 1);
}

// The rank has both open: whatever way it ends, nothing stays.
void remove_files() {
  const std::string path = std::getenv(empi::names::kSocket);
  unlink(path.c_str());
  rmdir(path.substr(0, path.rfind('/')).c_str());
  unlink(std::getenv(empi::names::kPage));
}

bool told_to_adapt() {
  int adapt = MPI_ADAPT_FALSE, status = 0;
  CHECK(MPI_Probe_adapt(&adapt, &status, nullptr) == MPI_SUCCESS);
  return adapt == MPI_ADAPT_TRUE;
}

}  // namespace

int main(int argc, char** argv) {
  empi::testing::SharedPage page;
  listen_as_agent();
  setenv(empi::names::kMode, "malleable", 1);
  setenv(empi::names::kWordSeconds, "2", 1);
  int status = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  remove_files();
  CHECK(!told_to_adapt());

  page.control().armed.store(arm_word(2, ArmState::Armed));
  std::thread agent([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    page.control().armed.store(arm_word(0, ArmState::Idle));
  });
  const auto start = Clock::now();
  CHECK(!told_to_adapt());
  CHECK(Clock::now() - start >= std::chrono::milliseconds(250));
  agent.join();

  page.control().armed.store(arm_word(3, ArmState::Armed));
  told_to_adapt();
  std::fprintf(stderr, "nobody has withdrawn the proposal, and the rank goes on\n");
  return 1;
}
