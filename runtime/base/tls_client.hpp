// SPDX-License-Identifier: Apache-2.0
// httplib's client over the TLS of a job (tls.hpp), or plain: what its kinds of stream share.
#pragma once
#include <httplib.h>

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/tls.hpp"

namespace empi {

class TlsClient : public httplib::ClientImpl {
 public:
  // `credentials`: null, plain. `ticket`: outlives the client, for the next one to the same peer.
  TlsClient(const std::string& host, int port, std::shared_ptr<tls::Credentials> credentials,
            tls::Ticket& ticket)
      : ClientImpl(host, port), credentials_(std::move(credentials)), ticket_(ticket) {}

 protected:
  // For process_socket(): there is a session with this socket, if there is to be one. False: `problem` says
  // why there is none.
  bool ready(int socket, tls::Session::Clock::time_point until, std::string& problem) {
    if (!credentials_ || session_) return true;
    session_.emplace(credentials_->now(), socket, tls::Session::Side::Client, &ticket_);
    if (session_->shake_hands(until)) return true;
    problem = session_->problem();
    return false;
  }
  tls::Session* session() { return session_ ? &*session_ : nullptr; }

 private:
  // httplib's word that the socket is about to be closed.
  void shutdown_ssl(Socket&, bool) override { session_.reset(); }

  const std::shared_ptr<tls::Credentials> credentials_;
  tls::Ticket& ticket_;
  std::optional<tls::Session> session_;
};

}  // namespace empi
