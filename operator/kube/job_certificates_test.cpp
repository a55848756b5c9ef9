// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/job_certificates.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/unique_fd.hpp"

namespace emj::manager {
namespace {

using empi::UniqueFd;
using empi::tls::Context;
using empi::tls::Session;
using namespace std::chrono_literals;

const auto kNow = std::chrono::system_clock::now();

std::shared_ptr<const Context> files_of(const std::vector<std::string>& secrets, std::optional<int> worker) {
  const JobCertificates certificates(secrets, "job");
  return std::make_shared<Context>(certificates.identity(worker, kNow), certificates.authorities());
}

bool meet(const std::shared_ptr<const Context>& agent, const std::shared_ptr<const Context>& controller) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  const UniqueFd at_agent(ends[0]), at_controller(ends[1]);
  const auto until = Session::Clock::now() + 20s;
  bool served = false;
  std::thread thread([&] {
    Session session(agent, at_agent.get(), Session::Side::Server);
    served = session.shake_hands(until) && session.peer() && !session.peer()->worker;
    ::shutdown(at_agent.get(), SHUT_RDWR);
  });
  Session session(controller, at_controller.get(), Session::Side::Client);
  const bool good = session.shake_hands(until);
  ::shutdown(at_controller.get(), SHUT_WR);
  thread.join();
  return good && served;
}

// A key is replaced twice, as docs/operate.md says; a pod has the files of any moment that is one step away.
TEST(JobCertificates, ARotationOfTheRootKeyLocksNobodyOut) {
  const std::vector<std::vector<std::string>> steps = {{"a"}, {"b", "a"}, {"c", "b"}, {"c"}};
  for (std::size_t pod = 0; pod < steps.size(); ++pod)
    for (std::size_t ours = 0; ours < steps.size(); ++ours) {
      const bool near = pod <= ours + 1 && ours <= pod + 1;
      EXPECT_EQ(meet(files_of(steps[pod], 3), files_of(steps[ours], std::nullopt)), near)
          << pod << " " << ours;
    }
}

TEST(JobCertificates, OurOwnAreMadeAnewWithTheKeysAndTheMonth) {
  std::string folder = (std::filesystem::temp_directory_path() / "empi-certificates.XXXXXX").string();
  ASSERT_TRUE(mkdtemp(folder.data()));
  std::ofstream(folder + "/key") << std::string(32, 'k') << "\n";
  auto clock = std::chrono::steady_clock::now();
  RootKey root(folder + "/key", [&] { return clock; });
  ControllerCredentials credentials(root);
  const auto first = credentials.of("job", kNow);
  EXPECT_EQ(first->now()->own(), (empi::tls::Identity{"job", std::nullopt}));
  EXPECT_EQ(credentials.of("job", kNow), first);
  EXPECT_NE(credentials.of("other", kNow), first);
  const auto next_month = credentials.of("job", kNow + std::chrono::days(31));
  EXPECT_NE(next_month, first);
  std::ofstream(folder + "/key") << std::string(32, 'n') << "\n" << std::string(32, 'k') << "\n";
  clock += 60s;
  const auto rotated = credentials.of("job", kNow + std::chrono::days(31));
  EXPECT_NE(rotated, next_month);
  EXPECT_TRUE(meet(files_of({std::string(32, 'k')}, 1), credentials.of("job", kNow)->now()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace emj::manager
