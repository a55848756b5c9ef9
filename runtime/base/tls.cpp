// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/tls.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "runtime/base/openssl_owned.hpp"

namespace empi::tls {
namespace {

constexpr int kDeepest = 4;  // authorities between a leaf and one that is trusted
constexpr long kTicketSeconds = 3600;
constexpr unsigned char kSessions[] = "elastic-mpi";

// --- a socket that neither blocks nor raises SIGPIPE, whatever its flags are ---

int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int put(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int get(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(socket_of(bio), into, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_read(bio);
  if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(n);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH;
}

BIO_METHOD* quiet_socket() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "quiet socket");
    BIO_meth_set_write(made, put);
    BIO_meth_set_read(made, get);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

// --- PEM ---

Owned<BIO> reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<Owned<X509>> certificates_in(const std::string& text, const char* where) {
  const Owned<BIO> bio = reader(text);
  std::vector<Owned<X509>> certificates;
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    certificates.emplace_back(certificate);
  const unsigned long code = ERR_peek_last_error();
  if (!certificates.empty() && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) ERR_clear_error();
  if (certificates.empty() || ERR_peek_last_error() != 0)
    throw std::runtime_error(std::string(where) + ": is no list of PEM certificates: " + last_error());
  return certificates;
}

// Of a certificate that names exactly one member of one job.
std::optional<Identity> identity_in(X509* certificate) {
  auto* names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::optional<Identity> identity;
  if (names && sk_GENERAL_NAME_num(names) == 1) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, 0);
    if (name->type == GEN_URI) {
      const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
      identity = identity_of({reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                              static_cast<std::size_t>(ASN1_STRING_length(uri))});
    }
  }
  GENERAL_NAMES_free(names);
  return identity;
}

std::string stamp_of(const std::string& path) {
  struct stat now{};
  if (stat(path.c_str(), &now)) return "none";
  return std::to_string(now.st_ino) + ":" + std::to_string(now.st_size) + ":" +
         std::to_string(now.st_mtim.tv_sec) + "." + std::to_string(now.st_mtim.tv_nsec);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  if (!(text << std::ifstream(path).rdbuf()))
    throw std::runtime_error("cannot read " + path + ": expected PEM, of the job's Secret");
  return text.str();
}

}  // namespace

struct Context::Handle {
  Owned<SSL_CTX> context;
};
struct Session::Handle {
  Owned<SSL> connection;
};
struct Ticket::Handle {
  Owned<SSL_SESSION> session;
  std::shared_ptr<const Context> of;
};

Ticket::Ticket() : handle_(std::make_unique<Handle>()) {}
Ticket::~Ticket() = default;

Context::Context(const std::string& identity, const std::string& authorities)
    : handle_(std::make_unique<Handle>()) {
  handle_->context.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* context = handle_->context.get();
  if (!context) throw std::runtime_error("OpenSSL cannot make a context: " + last_error());
  const auto chain = certificates_in(identity, kIdentityFile);
  const Owned<BIO> bio = reader(identity);
  static char no_password[] = "";
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_password));
  const auto own = identity_in(chain.front().get());
  if (!own)
    throw std::runtime_error(std::string(kIdentityFile) + ": its first certificate names no member of a job");
  own_ = *own;
  bool good = key && SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  for (std::size_t i = 1; good && i < chain.size(); ++i)
    good = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  if (!good)
    throw std::runtime_error(std::string(kIdentityFile) +
                             ": key and certificate do not fit: " + last_error());
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& certificate : certificates_in(authorities, kAuthoritiesFile))
    X509_STORE_add_cert(store, certificate.get());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);  // a server bears a peer without, and knows it
  SSL_CTX_set_verify_depth(context, kDeepest);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_session_id_context(context, kSessions, sizeof kSessions - 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets: nothing is kept for strangers
  SSL_CTX_set_timeout(context, kTicketSeconds);
  SSL_CTX_set_num_tickets(context, 1);
  ERR_clear_error();
}
Context::~Context() = default;

Credentials::Credentials(std::string folder) : folder_(std::move(folder)) {
  const std::string identity = folder_ + "/" + kIdentityFile, authorities = folder_ + "/" + kAuthoritiesFile;
  seen_ = stamp_of(identity) + " " + stamp_of(authorities);
  context_ = std::make_shared<Context>(text_of(identity), text_of(authorities));
}

Credentials::Credentials(const std::string& identity, const std::string& authorities)
    : context_(std::make_shared<Context>(identity, authorities)) {}

std::shared_ptr<const Context> Credentials::now() {
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) return context_;
  const std::string identity = folder_ + "/" + kIdentityFile, authorities = folder_ + "/" + kAuthoritiesFile;
  const std::string present = stamp_of(identity) + " " + stamp_of(authorities);
  if (present == seen_) return context_;
  try {
    context_ = std::make_shared<Context>(text_of(identity), text_of(authorities));
    seen_ = present;
  } catch (const std::runtime_error&) {
    // Caught in the middle of being replaced: what we have goes on being right, and the next one looks again.
    seen_.clear();
  }
  return context_;
}

Session::Session(std::shared_ptr<const Context> context, int socket, Side side, Ticket* ticket)
    : context_(std::move(context)),
      socket_(socket),
      side_(side),
      ticket_(ticket),
      handle_(std::make_unique<Handle>()) {
  ERR_clear_error();
  handle_->connection.reset(SSL_new(context_->handle_->context.get()));
  SSL* connection = handle_->connection.get();
  BIO* bio = BIO_new(quiet_socket());
  if (!connection || !bio) throw std::bad_alloc();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is never followed
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(connection, bio, bio);
  if (side == Side::Server) {
    SSL_set_accept_state(connection);
    return;
  }
  SSL_set_connect_state(connection);
  // Not across a rotation: what an authority that has gone has vouched for is asked anew.
  if (ticket_ && ticket_->handle_->session && ticket_->handle_->of == context_)
    SSL_set_session(connection, ticket_->handle_->session.get());
}

Session::~Session() {
  SSL* connection = handle_->connection.get();
  if (ticket_ && peer_) {
    Owned<SSL_SESSION> session(SSL_get1_session(connection));
    if (session && SSL_SESSION_is_resumable(session.get()))
      *ticket_->handle_ = {std::move(session), context_};
  }
  // Or OpenSSL takes the session for one that was broken off, and does not let it be resumed.
  SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

// >0: done; 0: the peer has ended; -1: it cannot be, or not in time.
template <class Call>
int Session::until_done(Call call, Clock::time_point until) {
  SSL* connection = handle_->connection.get();
  for (;;) {
    ERR_clear_error();
    const int result = call(connection);
    if (result > 0) return result;
    const int error = SSL_get_error(connection, result);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      // To be told apart from an answer that was cut: HTTP knows where its messages end. The first error is
      // the cause: the alert that OpenSSL sends for it may fail, too.
      if (error == SSL_ERROR_SYSCALL ||
          ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        if (problem_.empty() && !SSL_is_init_finished(connection))
          problem_ = "TLS: the peer closed the connection";
        return 0;
      }
      const long verdict = SSL_get_verify_result(connection);
      problem_ = "TLS: " + (verdict == X509_V_OK ? take_error(ERR_peek_error())
                                                 : std::string("the peer's certificate is not accepted: ") +
                                                       X509_verify_cert_error_string(verdict));
      ERR_clear_error();
      return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{socket_, static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    const int ready = left > 0 ? poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX))) : 0;
    if (ready > 0 || (ready < 0 && errno == EINTR)) continue;
    if (!SSL_is_init_finished(connection)) problem_ = "TLS: no whole handshake in time";
    return -1;
  }
}

bool Session::shake_hands(Clock::time_point until) {
  if (until_done([](SSL* connection) { return SSL_do_handshake(connection); }, until) <= 0) return false;
  SSL* connection = handle_->connection.get();
  if (X509* certificate = SSL_get0_peer_certificate(connection)) {
    const auto identity = identity_in(certificate);
    if (!identity || identity->job != context_->own().job) {
      problem_ = "TLS: the peer's certificate is for " +
                 (identity ? to_uri(*identity) : std::string("nobody")) + ": expected a member of job " +
                 context_->own().job;
      return false;
    }
    peer_ = identity;
  }
  if (side_ == Side::Client && (!peer_ || !peer_->worker)) {
    problem_ = "TLS: the peer is no worker of job " + context_->own().job;
    peer_.reset();
    return false;
  }
  return true;
}

bool Session::resumed() const { return SSL_session_reused(handle_->connection.get()) == 1; }
bool Session::has_bytes() const { return SSL_pending(handle_->connection.get()) > 0; }

ssize_t Session::read(char* into, std::size_t size, Clock::time_point until) {
  return until_done(
      [&](SSL* connection) {
        return SSL_read(connection, into, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
      },
      until);
}

ssize_t Session::write(const char* from, std::size_t size, Clock::time_point until) {
  const int written = until_done(
      [&](SSL* connection) {
        return SSL_write(connection, from, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
      },
      until);
  // To those who write until all is written 0 would be no end.
  return written > 0 ? written : -1;
}

}  // namespace empi::tls
