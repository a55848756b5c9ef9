// SPDX-License-Identifier: Apache-2.0
// Answers without compression: those of agents are small and the way is short, but httplib would offer Brotli
// and its servers then take it at the highest level, milliseconds of processor time on the node of a rank.
#pragma once
#include <httplib.h>

namespace empi {

/// Asks a server to answer without compression. For every client of an agent, before its first request.
template <class Client>
void want_plain_answers(Client& client) {
  client.set_default_headers({{"Accept-Encoding", "identity"}});
}

}  // namespace empi
