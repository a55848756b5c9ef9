// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 between the agents of a job, and between these and who commands it: both sides show a certificate
// of the job's authority (certificates.hpp). A handshake has a deadline, and so has every piece: a peer that
// says nothing, or garbage, costs a descriptor until then.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/base/certificates.hpp"

namespace empi::tls {

// What the certificates' folder has: our key and certificate with those that lead to older authorities, and
// the authorities that we trust.
inline constexpr char kIdentityFile[] = "identity.pem", kAuthoritiesFile[] = "authorities.pem";

// Our side of all connections with one key. Immutable, shared by threads.
class Context {
 public:
  // Throws std::runtime_error saying what is wrong with which text.
  Context(const std::string& identity, const std::string& authorities);
  ~Context();
  const Identity& own() const { return own_; }

 private:
  friend class Session;
  struct Handle;
  std::unique_ptr<Handle> handle_;
  Identity own_;
};

// The same, read again when the files have changed (a Secret's volume). Thread-safe.
class Credentials {
 public:
  explicit Credentials(std::string folder);                                  // throws std::runtime_error
  Credentials(const std::string& identity, const std::string& authorities);  // that do not change; likewise
  std::shared_ptr<const Context> now();

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::string seen_;  // of the files
  std::shared_ptr<const Context> context_;
};

// What a client keeps from one connection for the next one to the same peer: its handshake is then a third of
// the work. Not for use by two threads at once.
class Ticket {
 public:
  Ticket();
  ~Ticket();

 private:
  friend class Session;
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

// One connection, over a socket that somebody else closes. Not for use by two threads at once.
class Session {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Side { Server, Client };
  // `ticket`: of a client, null: none.
  Session(std::shared_ptr<const Context> context, int socket, Side side, Ticket* ticket = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A client refuses whoever is no worker of its job; a server those of other jobs. False: problem() says
  // why.
  bool shake_hands(Clock::time_point until);
  // Who is there; none: it has shown no certificate, which a server bears.
  const std::optional<Identity>& peer() const { return peer_; }
  bool resumed() const;

  bool has_bytes() const;  // read() need not wait
  // As recv() and send(): -1 when it fails or lasts; of read(), 0 at the end.
  ssize_t read(char* into, std::size_t size, Clock::time_point until);
  ssize_t write(const char* from, std::size_t size, Clock::time_point until);
  const std::string& problem() const { return problem_; }

 private:
  template <class Call>
  int until_done(Call call, Clock::time_point until);
  struct Handle;
  const std::shared_ptr<const Context> context_;
  const int socket_;
  const Side side_;
  Ticket* const ticket_;
  std::unique_ptr<Handle> handle_;
  std::optional<Identity> peer_;
  std::string problem_;
};

}  // namespace empi::tls
