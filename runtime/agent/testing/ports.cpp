// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/testing/ports.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

namespace empi::testing {

namespace {

// Ports that are this process's own, below the range that the kernel gives to clients. Tests run side by
// side, and an agent listens a while after its port was chosen: that a port is free now is not enough. So the
// first port of a block stands for it as the name of an abstract socket, which the kernel keeps until the
// process ends, for as many processes as share the network.
class PortBlock {
 public:
  static constexpr int kFirst = 12000, kPorts = 200, kBlocks = 100;

  PortBlock() {
    const int start = static_cast<int>(std::random_device{}() % kBlocks);
    for (int i = 0; i < kBlocks; ++i) {
      first_ = kFirst + (start + i) % kBlocks * kPorts;
      if (take(first_)) return;
    }
    throw std::runtime_error("no block of ports between 12000 and 32000 is free");
  }
  int free_port() {
    for (int tries = 0; tries < kPorts; ++tries) {
      const int port = first_ + next_++ % kPorts;
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(port));
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      close(fd);
      if (free) return port;
    }
    throw std::runtime_error("no free port from " + std::to_string(first_) + " on");
  }

 private:
  static bool take(int first) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "empi-test-ports." + std::to_string(first);
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);  // open as long as the process lives
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) return true;
    close(fd);
    return false;
  }
  int first_ = 0, next_ = 0;
};

}  // namespace

int free_port() {
  static PortBlock block;
  return block.free_port();
}

}  // namespace empi::testing
