// SPDX-License-Identifier: Apache-2.0
// What helm/install.yaml lets the operator, its users and everybody else do. That it is what the chart
// renders is tried on the cluster ([rendered]).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/testing/places.hpp"

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

YAML::Node find(const std::string& kind, const std::string& name) {
  for (const YAML::Node& object : YAML::LoadAllFromFile(empi::testing::of_checkout("helm/install.yaml")))
    if (object["kind"] && object["kind"].as<std::string>() == kind &&
        object["metadata"]["name"].as<std::string>() == name)
      return object;
  ADD_FAILURE() << "no " << kind << " " << name;
  return YAML::Load("{}");
}

Words words(const YAML::Node& list) { return list ? list.as<Words>() : Words{}; }

// resource -> verbs, of one role.
std::map<std::string, Words> rights(const std::string& kind, const std::string& name) {
  std::map<std::string, Words> verbs;
  for (const auto& rule : find(kind, name)["rules"])
    for (const std::string& resource : words(rule["resources"]))
      for (const std::string& verb : words(rule["verbs"])) verbs[resource].push_back(verb);
  return verbs;
}

const std::string operator_name = "elastic-mpi-operator";

// "apps deployments get": one line for each right.
std::set<std::string> granted() {
  std::set<std::string> lines;
  for (const auto& role : {find("ClusterRole", operator_name), find("Role", operator_name + "-leader")})
    for (const auto& rule : role["rules"])
      for (const std::string& group : words(rule["apiGroups"]))
        for (const std::string& resource : words(rule["resources"]))
          for (const std::string& verb : words(rule["verbs"])) {
            std::string line = group.empty() ? "core" : group;
            line.append(" ").append(resource).append(" ").append(verb);
            lines.insert(std::move(line));
          }
  return lines;
}

// The same of the guide's table, but for what only an installation with queues has.
std::set<std::string> told() {
  std::ifstream page(empi::testing::of_checkout("docs/operate.md"));
  static const std::regex row("^\\| `([^`]+)` \\| `([^`]+)` \\| ([a-z, ]+) \\| (.*) \\|$");
  std::set<std::string> lines;
  std::smatch cells;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, cells, row) || cells[4].str().starts_with("with queues")) continue;
    std::istringstream verbs(std::regex_replace(cells[3].str(), std::regex(","), ""));
    for (std::string verb; verbs >> verb;) lines.insert(cells[1].str() + " " + cells[2].str() + " " + verb);
  }
  return lines;
}

TEST(Install, TheOperatorMayDoExactlyWhatTheGuideSays) {
  EXPECT_THAT(told(), Contains("core pods create"));
  EXPECT_EQ(granted(), told());
}

// Leases of its namespace are other controllers' as well: who takes theirs stops them.
TEST(Install, OfLeasesItMayTouchItsOwnOnly) {
  for (const auto& rule : find("Role", operator_name + "-leader")["rules"]) {
    const Words verbs = words(rule["verbs"]);
    if (verbs == Words{"create"}) continue;  // whose name cannot be told from a rule
    if (words(rule["resources"]) == Words{"secrets"}) continue;
    EXPECT_THAT(words(rule["resourceNames"]), ElementsAre(operator_name));
    EXPECT_THAT(verbs, UnorderedElementsAre("get", "update"));
  }
}

// The root key, which it makes when it first starts; no rendering of the chart has a key in it.
TEST(Install, OfSecretsItMayReadTheRootKeyOnly) {
  std::vector<Words> readable;
  for (const auto& rule : find("Role", operator_name + "-leader")["rules"])
    if (words(rule["resources"]) == Words{"secrets"} && words(rule["verbs"]) != Words{"create"}) {
      EXPECT_THAT(words(rule["verbs"]), ElementsAre("get"));
      readable.push_back(words(rule["resourceNames"]));
    }
  EXPECT_THAT(readable, ElementsAre(Words{"elastic-mpi-root-key"}));
  for (const YAML::Node& object : YAML::LoadAllFromFile(empi::testing::of_checkout("helm/install.yaml")))
    EXPECT_TRUE(!object["kind"] || object["kind"].as<std::string>() != "Secret");
}

// Whoever has `admin`, `edit` or `view` of a namespace has it for jobs, too; the status is the operator's
// alone.
TEST(Install, UsersOfANamespaceHaveTheirRightsByItsRoles) {
  const auto aggregated_to = [](const std::string& role) {
    std::set<std::string> roles;
    for (const auto& label : find("ClusterRole", role)["metadata"]["labels"]) {
      const auto name = label.first.as<std::string>();
      const std::string prefix = "rbac.authorization.k8s.io/aggregate-to-";
      if (name.starts_with(prefix) && label.second.as<std::string>() == "true")
        roles.insert(name.substr(prefix.size()));
    }
    return roles;
  };
  EXPECT_EQ(aggregated_to("elastic-mpi-edit"), (std::set<std::string>{"admin", "edit"}));
  EXPECT_EQ(aggregated_to("elastic-mpi-view"), (std::set<std::string>{"admin", "edit", "view"}));
  auto edit = rights("ClusterRole", "elastic-mpi-edit"), view = rights("ClusterRole", "elastic-mpi-view");
  EXPECT_THAT(edit["elasticmpijobs"],
              UnorderedElementsAre("create", "delete", "deletecollection", "patch", "update"));
  EXPECT_THAT(edit["elasticmpijobs/scale"], UnorderedElementsAre("patch", "update"));
  EXPECT_THAT(view["elasticmpijobs"], UnorderedElementsAre("get", "list", "watch"));
  EXPECT_THAT(view["elasticmpijobs/status"], ElementsAre("get"));
  EXPECT_THAT(view["elasticmpijobs/scale"], ElementsAre("get"));
  EXPECT_FALSE(edit.contains("elasticmpijobs/status"));
}

// Metrics name the jobs of all namespaces.
TEST(Install, OnlyPrometheusReachesTheMetrics) {
  const YAML::Node ingress = find("NetworkPolicy", operator_name)["spec"]["ingress"];
  ASSERT_EQ(ingress.size(), 1u);
  ASSERT_TRUE(ingress[0]["from"]);
  ASSERT_EQ(ingress[0]["from"].size(), 1u);
  EXPECT_EQ(ingress[0]["from"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
                .as<std::string>(),
            "monitoring");
}

TEST(Install, TheOperatorsPodIsRestricted) {
  const YAML::Node pod = find("Deployment", operator_name)["spec"]["template"]["spec"];
  EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>());
  EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"].as<std::string>(), "RuntimeDefault");
  const YAML::Node container = pod["containers"][0];
  EXPECT_FALSE(container["securityContext"]["allowPrivilegeEscalation"].as<bool>());
  EXPECT_TRUE(container["securityContext"]["readOnlyRootFilesystem"].as<bool>());
  EXPECT_THAT(words(container["args"]), Contains("--dns-namespace=kube-system"));
  EXPECT_THAT(words(container["args"]), Contains("--dns-address=169.254.20.10"));
  EXPECT_THAT(words(container["args"]), Contains("--sidecar-memory-limit=128Mi"));
  EXPECT_THAT(words(container["args"]), Contains("--worker-user=65532"));
  EXPECT_THAT(words(container["args"]), Contains("--mutual-tls"));
  EXPECT_THAT(words(container["args"]), Contains("--root-key-secret=elastic-mpi-root-key"));
}

}  // namespace
