// SPDX-License-Identifier: Apache-2.0
// Certificates of one job: an authority, and who may say to be whom (decision K14'). Pure but for OpenSSL;
// everything is PEM text. Keys are P-256.
//
// Keys and certificates follow from a secret, the job and the time, byte for byte: whoever has the secret
// writes the same files again without having kept or read any. Signatures are those of RFC 6979.
//
// Throws std::runtime_error when OpenSSL cannot do what every OpenSSL 3.2 can.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace empi::tls {

// Who a certificate is for, as its one URI: empi://job/UID/worker/INDEX or empi://job/UID/controller.
struct Identity {
  std::string job;            // its UID
  std::optional<int> worker;  // index; none: whoever commands the job
  bool operator==(const Identity&) const = default;
};
std::string to_uri(const Identity& identity);
std::optional<Identity> identity_of(const std::string& uri);  // none: is no such URI

struct Validity {
  std::chrono::sys_seconds from, to;
};
// The months around `now`: the same for 30 days, begun at least a day ago (clocks differ), and good for 60
// days and more to come.
Validity months_around(std::chrono::system_clock::time_point now);

class Authority {
 public:
  // `job`: its UID. Another secret or another job is another authority.
  Authority(const std::string& secret, const std::string& job);
  ~Authority();
  Authority(Authority&&) noexcept;

  std::string certificate() const;  // signed by itself: what others trust
  // Signed by an older authority: who trusts only that one then trusts what this one has issued.
  std::string certificate_by(const Authority& older) const;
  // Key and certificate of one of the job, the key first.
  std::string issue(std::optional<int> worker, const Validity& validity) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace empi::tls
