// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/datagram.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace empi {

ssize_t receive_datagram(int socket, std::string& text) {
  const ssize_t length = recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);  // of the message, not of the buffer
  if (length <= 0) return length;
  text.resize(static_cast<std::size_t>(length));
  return recv(socket, text.data(), text.size(), 0);
}

int send_datagram(int socket, std::string_view text, int flags) {
  for (;;) {
    if (send(socket, text.data(), text.size(), MSG_NOSIGNAL | flags) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

}  // namespace empi
