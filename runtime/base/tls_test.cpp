// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/tls.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "runtime/base/unique_fd.hpp"

namespace empi::tls {
namespace {

using namespace std::chrono_literals;
using Clock = Session::Clock;

const auto kNow = std::chrono::system_clock::now();

std::shared_ptr<const Context> member(const Authority& authority, std::optional<int> worker,
                                      const Validity& validity = months_around(kNow),
                                      const std::string& trusted = "") {
  return std::make_shared<Context>(authority.issue(worker, validity),
                                   trusted.empty() ? authority.certificate() : trusted);
}

struct Met {
  bool server = false, client = false, resumed = false;
  std::optional<Identity> at_server, at_client;
  std::string server_problem, client_problem, heard;
};

// Both sides shake hands, and the client says a word, which a server's refusal answers, too.
Met meet(const std::shared_ptr<const Context>& server, const std::shared_ptr<const Context>& client,
         Ticket* ticket = nullptr) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd at_server(ends[0]), at_client(ends[1]);
  const auto until = Clock::now() + 20s;
  Met met;
  std::thread thread([&] {
    Session session(server, at_server.get(), Session::Side::Server);
    met.server = session.shake_hands(until);
    met.at_server = session.peer();
    met.server_problem = session.problem();
    char buffer[16];
    const ssize_t n = met.server ? session.read(buffer, sizeof buffer, until) : -1;
    if (n > 0) met.heard.assign(buffer, static_cast<std::size_t>(n));
    if (n > 0) session.write("yes", 3, until);
    ::shutdown(at_server.get(), SHUT_RDWR);
  });
  {
    Session session(client, at_client.get(), Session::Side::Client, ticket);
    met.client = session.shake_hands(until);
    met.at_client = session.peer();
    char buffer[16];
    // In TLS 1.3 the client is through before the server has seen its certificate.
    if (met.client)
      met.client = session.write("word", 4, until) > 0 && session.read(buffer, sizeof buffer, until) > 0;
    met.client_problem = session.problem();
    met.resumed = session.resumed();
    ::shutdown(at_client.get(), SHUT_RDWR);
  }
  thread.join();
  return met;
}

const Authority& job() {
  static const Authority authority("secret", "job");
  return authority;
}

TEST(Tls, MembersOfAJobMeetAndKnowWhoIsThere) {
  const Met met = meet(member(job(), 3), member(job(), std::nullopt));
  EXPECT_TRUE(met.server && met.client) << met.server_problem << met.client_problem;
  EXPECT_EQ(met.at_server, (Identity{"job", std::nullopt}));
  EXPECT_EQ(met.at_client, (Identity{"job", 3}));
  EXPECT_EQ(met.heard, "word");
}

TEST(Tls, AClientSpeaksToWorkersOnly) {
  const Met met = meet(member(job(), std::nullopt), member(job(), 1));
  EXPECT_FALSE(met.client);
  EXPECT_NE(met.client_problem.find("no worker"), std::string::npos) << met.client_problem;
}

TEST(Tls, AnotherAuthorityIsRefusedByBoth) {
  const Authority other("another secret", "job");
  const Met by_client = meet(member(other, 1), member(job(), 2));
  EXPECT_FALSE(by_client.client);
  EXPECT_NE(by_client.client_problem.find("not accepted"), std::string::npos) << by_client.client_problem;
  const Met by_server = meet(member(job(), 1), member(other, 2, months_around(kNow), job().certificate()));
  EXPECT_FALSE(by_server.server);
  EXPECT_FALSE(by_server.client);
  EXPECT_NE(by_server.server_problem.find("not accepted"), std::string::npos) << by_server.server_problem;
}

// Who trusts two authorities, as one that runs many jobs by one secret might.
TEST(Tls, AnotherJobIsRefusedByNameToo) {
  const Authority other("secret", "another");
  const std::string both = job().certificate() + other.certificate();
  const Met met =
      meet(member(job(), 1, months_around(kNow), both), member(other, 2, months_around(kNow), both));
  EXPECT_FALSE(met.client);
  EXPECT_NE(met.client_problem.find("empi://job/job/worker/1"), std::string::npos) << met.client_problem;
}

TEST(Tls, WhatHasExpiredOrIsYetToBeginIsRefused) {
  const auto now = std::chrono::floor<std::chrono::seconds>(kNow);
  for (const Validity& validity : {Validity{now - 48h, now - 1h}, Validity{now + 1h, now + 48h}}) {
    const Met met = meet(member(job(), 1, validity), member(job(), 2));
    EXPECT_FALSE(met.client);
    const char* word = validity.from < now ? "expired" : "not yet valid";
    EXPECT_NE(met.client_problem.find(word), std::string::npos) << met.client_problem;
  }
  // Clocks that differ by some hours are borne.
  const Met met =
      meet(member(job(), 1, months_around(kNow + 23h)), member(job(), 2, months_around(kNow - 23h)));
  EXPECT_TRUE(met.client) << met.client_problem;
}

// Each side may have got its new files, or not yet.
TEST(Tls, ARotationLocksNobodyOut) {
  const Authority old("old secret", "job"), young("new secret", "job");
  const std::string both = young.certificate() + old.certificate();
  const auto before = member(old, 1);
  const std::shared_ptr<const Context> after =
      std::make_shared<Context>(young.issue(2, months_around(kNow)) + young.certificate_by(old), both);
  for (const auto& [server, client] :
       {std::pair{before, after}, {after, before}, {after, after}, {before, before}}) {
    const Met met = meet(server, client);
    EXPECT_TRUE(met.server && met.client) << met.server_problem << met.client_problem;
  }
  // And in the end the old one has no say.
  const auto end = member(young, 3);
  EXPECT_FALSE(meet(end, before).client);
  EXPECT_TRUE(meet(end, after).client);
}

TEST(Tls, TheSecondConnectionResumesTheFirst) {
  const auto server = member(job(), 1), client = member(job(), std::nullopt);
  Ticket ticket;
  EXPECT_FALSE(meet(server, client, &ticket).resumed);
  const Met again = meet(server, client, &ticket);
  EXPECT_TRUE(again.resumed);
  EXPECT_EQ(again.at_server, (Identity{"job", std::nullopt}));
  EXPECT_EQ(again.at_client, (Identity{"job", 1}));
  // Not with other keys of ours: they come with other authorities.
  EXPECT_FALSE(meet(server, member(job(), std::nullopt), &ticket).resumed);
}

TEST(Tls, APeerThatSaysNothingEndsWithTheDeadline) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd ours(ends[0]), silent(ends[1]);
  Session session(member(job(), 1), ours.get(), Session::Side::Server);
  EXPECT_FALSE(session.shake_hands(Clock::now() + 20ms));
  EXPECT_NE(session.problem().find("in time"), std::string::npos) << session.problem();
}

// httplib writes on until all is written: it takes nothing for an error that is not below zero.
TEST(Tls, NothingCanBeWrittenToAPeerThatHasGone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  UniqueFd at_server(ends[0]);
  const UniqueFd at_client(ends[1]);
  const auto until = Clock::now() + 20s;
  Session client(member(job(), std::nullopt), at_client.get(), Session::Side::Client);
  std::thread thread([&] {
    Session server(member(job(), 3), at_server.get(), Session::Side::Server);
    EXPECT_TRUE(server.shake_hands(until)) << server.problem();
    at_server.reset();
  });
  EXPECT_TRUE(client.shake_hands(until)) << client.problem();
  thread.join();
  EXPECT_LT(client.write("word", 4, until), 0);
}

TEST(Tls, APeerThatSpeaksSomethingElseEndsAtOnce) {
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4096, '\x16'), std::string(64, '\0')}) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const UniqueFd ours(ends[0]), other(ends[1]);
    ASSERT_EQ(::send(other.get(), garbage.data(), garbage.size(), 0), static_cast<ssize_t>(garbage.size()));
    ::shutdown(other.get(), SHUT_WR);
    Session session(member(job(), 1), ours.get(), Session::Side::Server);
    EXPECT_FALSE(session.shake_hands(Clock::now() + 20s));
    EXPECT_FALSE(session.problem().empty());
  }
}

TEST(Tls, WhatIsNoPemOrDoesNotFitIsSaid) {
  const std::string good = job().issue(1, months_around(kNow)), trusted = job().certificate();
  EXPECT_NO_THROW(Context(good, trusted));
  EXPECT_THROW(Context(good.substr(0, good.size() / 2), trusted), std::runtime_error);
  EXPECT_THROW(Context(good.substr(0, good.size() - 40), trusted), std::runtime_error);
  EXPECT_THROW(Context(good, trusted.substr(0, trusted.size() / 2)), std::runtime_error);
  EXPECT_THROW(Context("", ""), std::runtime_error);
  EXPECT_THROW(Context(trusted, trusted), std::runtime_error);  // names nobody, and has no key
  const std::string other = job().issue(2, months_around(kNow));
  const auto certificate = good.find("-----BEGIN CERTIFICATE");
  EXPECT_THROW(Context(other.substr(0, certificate) + good.substr(certificate), trusted), std::runtime_error);
}

TEST(Tls, FilesAreReadAgainWhenTheyChange) {
  std::string folder = (std::filesystem::temp_directory_path() / "tls_test.XXXXXX").string();
  ASSERT_TRUE(mkdtemp(folder.data()));
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder + "/new") << text;
    std::filesystem::rename(folder + "/new", folder + "/" + name);
  };
  EXPECT_THROW(Credentials{folder}, std::runtime_error);
  for (const char* name : {kIdentityFile, kAuthoritiesFile})  // as a volume makes of what is not there
    std::filesystem::create_directory(folder + "/" + name);
  try {
    const Credentials none(folder);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("expected PEM"), std::string::npos) << error.what();
  }
  for (const char* name : {kIdentityFile, kAuthoritiesFile}) std::filesystem::remove(folder + "/" + name);
  write(kIdentityFile, job().issue(1, months_around(kNow)));
  write(kAuthoritiesFile, job().certificate());
  Credentials credentials(folder);
  const auto first = credentials.now();
  EXPECT_EQ(first->own(), (Identity{"job", 1}));
  EXPECT_EQ(credentials.now(), first);
  write(kIdentityFile, "half a");
  EXPECT_EQ(credentials.now(), first);
  write(kIdentityFile, job().issue(2, months_around(kNow)));
  EXPECT_EQ(credentials.now()->own(), (Identity{"job", 2}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace empi::tls
