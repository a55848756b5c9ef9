// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/certificates.hpp"

#include <gtest/gtest.h>

namespace empi::tls {
namespace {

using namespace std::chrono_literals;

TEST(Certificates, AUriNamesAMemberAndNothingElseDoes) {
  for (const Identity& identity : {Identity{"4f-a", 7}, Identity{"4f-a", 0}, Identity{"4f-a", std::nullopt}})
    EXPECT_EQ(identity_of(to_uri(identity)), identity) << to_uri(identity);
  for (const char* text :
       {"", "empi://job/", "empi://job//worker/1", "empi://job/a", "empi://job/a/worker/",
        "empi://job/a/worker/-1", "empi://job/a/worker/1x", "empi://job/a/worker/99999999999",
        "empi://job/a/controller/", "http://job/a/controller"})
    EXPECT_EQ(identity_of(text), std::nullopt) << text;
}

TEST(Certificates, FollowFromTheSecretTheJobAndTheMonth) {
  const auto now = std::chrono::sys_days{std::chrono::January / 15 / 2030};
  const Validity validity = months_around(now);
  const Authority one("secret", "job"), again("secret", "job"), other("secret", "another");
  EXPECT_EQ(one.certificate(), again.certificate());
  EXPECT_EQ(one.issue(3, validity), again.issue(3, validity));
  EXPECT_EQ(one.issue(std::nullopt, validity), again.issue(std::nullopt, validity));
  EXPECT_NE(one.issue(3, validity), one.issue(4, validity));
  EXPECT_NE(one.certificate(), other.certificate());
  EXPECT_NE(one.certificate(), Authority("Secret", "job").certificate());
  EXPECT_EQ(one.certificate_by(other), again.certificate_by(other));
}

TEST(Certificates, AreGoodForSixtyDaysAndMoreAndForADayThatWas) {
  for (int hour = 0; hour < 24 * 70; hour += 5) {
    const auto now = std::chrono::sys_days{std::chrono::January / 15 / 2030} + std::chrono::hours(hour);
    const Validity validity = months_around(now);
    EXPECT_GE(now - validity.from, 24h);
    EXPECT_GE(validity.to - now, std::chrono::days(60));
  }
}

TEST(Certificates, AreForUidsOnly) {
  for (const char* job : {"", "a/b", "a,DNS:b", "a b"})
    EXPECT_THROW(Authority("secret", job), std::invalid_argument);
}

}  // namespace
}  // namespace empi::tls
