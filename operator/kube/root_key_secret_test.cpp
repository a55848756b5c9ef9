// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/root_key_secret.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/kube/config.hpp"
#include "operator/kube/testing/object_server.hpp"

namespace emj::manager {
namespace {

const std::string path = "/api/v1/namespaces/system/secrets/root";

TEST(RootKeySecret, IsMadeOnceAndThenRead) {
  kube::testing::ObjectServer server;
  kube::Client client(server.config());
  const std::string key = ensure_root_key(client, {"system", "root"});
  EXPECT_GE(key.size(), 64u);
  EXPECT_TRUE(server.object(path).is_object());
  EXPECT_EQ(ensure_root_key(client, {"system", "root"}), key) << "another replica, or the next start";
  EXPECT_NE(ensure_root_key(client, {"system", "other"}), key);
}

TEST(RootKeySecret, OfAnInstallationThatHasOneIsLeftAsItIs) {
  kube::testing::ObjectServer server;
  kube::Client client(server.config());
  server.put(path, {{"metadata", {{"name", "root"}, {"namespace", "system"}}},
                    {"data", {{kRootKeyEntry, kube::encode_base64("of old times")}}}});
  EXPECT_EQ(ensure_root_key(client, {"system", "root"}), "of old times");
  server.put(path,
             {{"metadata", {{"name", "root"}, {"namespace", "system"}}}, {"data", {{"another", "eA=="}}}});
  EXPECT_THROW(ensure_root_key(client, {"system", "root"}), std::runtime_error);
}

}  // namespace
}  // namespace emj::manager
