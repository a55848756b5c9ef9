// SPDX-License-Identifier: Apache-2.0
// Messages over a socket that keeps their bounds (SOCK_SEQPACKET), whole however long they are.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace empi {

// As recv(2): the length of the message that is now in `text`, 0 when the other end is closed, -1 and errno.
ssize_t receive_datagram(int socket, std::string& text);

// The errno of what kept the message from being sent, 0 when it is on its way. `flags` as of send(2); no
// SIGPIPE comes of it.
int send_datagram(int socket, std::string_view text, int flags = 0);

}  // namespace empi
