// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/root_key.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace emj::manager {
namespace {

class RootKeyFile : public ::testing::Test {
 protected:
  RootKeyFile() {
    char name[] = "/tmp/empi-root-key.XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/key";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& text) { std::ofstream(path) << text; }

  std::string folder, path;
  const std::string key = std::string(32, 'k'), older = std::string(40, 'o');
};

// RFC 4231, test case 2.
TEST(HmacSha256, IsTheStandards) {
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_F(RootKeyFile, TokensDifferByJobAndAreNotTheKey) {
  write(key + "\n");
  RootKey root(path);
  EXPECT_EQ(root.tokens("a"), std::vector<std::string>{hmac_sha256(key, "a")});
  EXPECT_NE(root.tokens("a"), root.tokens("b"));
  EXPECT_EQ(root.token_file("a"), root.tokens("a").front() + "\n");
}

TEST_F(RootKeyFile, ThatIsBroughtLateIsReadWhenItIsThere) {
  auto now = std::chrono::steady_clock::now();
  RootKey root(path, [&] { return now; }, key + "\n");
  EXPECT_EQ(root.keys(), std::vector<std::string>{key});
  now += std::chrono::seconds(60);
  EXPECT_EQ(root.keys(), std::vector<std::string>{key}) << "it is still not there";
  write(older + "\n");
  now += std::chrono::seconds(60);
  EXPECT_EQ(root.keys(), std::vector<std::string>{older});
}

TEST_F(RootKeyFile, OlderKeysStayValid) {
  write(key + "\n" + older + "\n");
  RootKey root(path);
  EXPECT_EQ(root.tokens("a"), (std::vector<std::string>{hmac_sha256(key, "a"), hmac_sha256(older, "a")}));
  EXPECT_EQ(root.token_file("a"), hmac_sha256(key, "a") + "\n" + hmac_sha256(older, "a") + "\n");
  const std::string version = root.version();
  write(key + "\n");
  EXPECT_NE(RootKey(path).version(), version);
}

TEST_F(RootKeyFile, ANewKeyIsSeenWithinSeconds) {
  std::chrono::steady_clock::time_point now{};
  write(key + "\n");
  RootKey root(path, [&] { return now; });
  const std::string newer(32, 'n');
  write(newer + "\n" + key + "\n");
  now += std::chrono::seconds(5);
  EXPECT_EQ(root.tokens("a"), (std::vector<std::string>{hmac_sha256(newer, "a"), hmac_sha256(key, "a")}));
  write("short\n");
  now += std::chrono::seconds(5);
  EXPECT_EQ(root.tokens("a").front(), hmac_sha256(newer, "a")) << "what we have goes on being right";
}

TEST_F(RootKeyFile, SaysWhatIsWrong) {
  const auto problem = [&] {
    try {
      RootKey root(path);
      return std::string();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(problem().find(path), std::string::npos) << "no file";
  write("short\n");
  EXPECT_NE(problem().find("at least 32"), std::string::npos) << problem();
}

}  // namespace
}  // namespace emj::manager
