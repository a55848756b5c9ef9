// SPDX-License-Identifier: Apache-2.0
// A connection to another agent, kept open between batches: every piece of an exchange comes within five
// seconds, however long the whole of a large batch takes on a slow network.
#pragma once
#include <memory>
#include <string>

#include "runtime/base/tls_client.hpp"

namespace empi::agent {

class PeerClient final : public TlsClient {
 public:
  using TlsClient::TlsClient;
  const std::string& problem() const { return problem_; }  // of TLS, in words; empty: of HTTP

 private:
  class Pieces;
  bool process_socket(const Socket& socket, std::function<bool(httplib::Stream&)> talk) override;

  std::string problem_;
};

}  // namespace empi::agent
