// SPDX-License-Identifier: Apache-2.0
// What the CRD file forbids is refused as the API server refuses it, and nothing else
// (operator/api/schema.hpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/api/testing/schema.hpp"

namespace emj {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json job() {
  return json::parse(
      R"({"apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob", "metadata": {"name": "demo"},
    "spec": {"worker": {"minReplicas": 1, "maxReplicas": 4, "template": {"spec": {"containers":
      [{"name": "worker", "image": "i", "command": ["program"]}]}}}}})");
}
const json::json_pointer kPod("/spec/worker/template/spec");
const json::json_pointer kContainer("/spec/worker/template/spec/containers/0");

// "field: reason, expected ..." of what is refused, "" where it is taken.
std::string refusal(const json& object) {
  const auto read = parse_json(object);
  return read.ok() ? "" : read.message();
}

// Each limit of a number in the schema of `spec`, by the schema itself: the limit is taken, one beyond it is
// not.
TEST(Verdict, EveryLimitOfANumberHolds) {
  static const testing::Schema schema("elasticmpijob.yaml");
  int limits = 0;
  for (const auto& [path, info] : schema.fields()) {
    if (info.type != "integer" || !path.starts_with("spec.") || path.find("[]") != std::string::npos)
      continue;
    json::json_pointer at;
    std::string rest = path + ".";
    for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      at /= rest.substr(0, dot);
      rest.erase(0, dot + 1);
    }
    for (const auto& [name, beyond] : {std::pair{"minimum", -1}, {"maximum", 1}}) {
      const YAML::Node limit = schema.at(path)[name];
      if (!limit) continue;
      ++limits;
      const auto refused = [&](std::int64_t value) {
        json object = job();
        object[at] = value;
        return refusal(object).find(path + ": is " + std::to_string(value) + ", expected a whole number") !=
               std::string::npos;
      };
      EXPECT_FALSE(refused(limit.as<std::int64_t>())) << path << " at its " << name;
      EXPECT_TRUE(refused(limit.as<std::int64_t>() + beyond)) << path << " beyond its " << name;
    }
  }
  EXPECT_GT(limits, 60);
}

TEST(Verdict, OfTheTemplateEveryFieldIsLookedAt) {
  json object = job();
  object[kContainer]["livenessProbe"] = {{"httpGet", {{"port", true}}}};
  EXPECT_THAT(refusal(object),
              HasSubstr("containers[0].livenessProbe.httpGet.port: is true, expected a whole number"));
  object = job();
  object[kPod]["volumes"] = {{{"emptyDir", json::object()}}};
  EXPECT_THAT(refusal(object), HasSubstr("template.spec.volumes[0].name: missing, expected a text"));
  object = job();
  object[kPod]["terminationGracePeriodSeconds"] = 30.5;
  EXPECT_THAT(refusal(object), HasSubstr("terminationGracePeriodSeconds: is 30.5, expected a whole number"));
  object = job();
  object[kPod]["nodeSelector"] = {{"disk", 5}};
  EXPECT_THAT(refusal(object), HasSubstr("nodeSelector.disk: is 5, expected a text; put it in quotes"));
}

// A newer Kubernetes may have it; whether it is a typo the dry run of the pod says.
TEST(Verdict, OfTheTemplateUnknownFieldsAreLeftToTheCluster) {
  json object = job();
  object[kPod]["futureField"] = {{"a", 1}};
  object[kContainer]["otherField"] = true;
  EXPECT_EQ(refusal(object), "");
  object["spec"]["worker"]["template"]["containers"] = json::array();
  EXPECT_THAT(refusal(object), HasSubstr("did you mean spec.worker.template.spec.containers?"));
}

TEST(Verdict, NullIsAsGoodAsAbsent) {
  json object = job();
  object["spec"]["worker"]["replicas"] = nullptr;
  object["spec"]["resize"] = nullptr;
  object[kPod]["tolerations"] = nullptr;
  EXPECT_EQ(refusal(object), "");
  object["spec"]["worker"]["minReplicas"] = nullptr;
  EXPECT_THAT(refusal(object),
              HasSubstr("spec.worker.minReplicas: missing, expected a whole number from 1 to 10000"));
  object = job();
  object[kContainer]["args"] = {"one", nullptr};
  EXPECT_THAT(refusal(object), HasSubstr("args[1]: is null, expected a text"));
}

// Patterns are matched by a recursion in the library.
TEST(Verdict, ATextOfAMegabyteIsRefusedNotMatched) {
  json object = job();
  object[kContainer]["resources"] = {{"requests", {{"memory", std::string(1 << 20, '1')}}}};
  EXPECT_THAT(refusal(object), HasSubstr("resources.requests.memory"));
  object = job();
  object["spec"]["scheduling"]["queueName"] = std::string(1 << 20, 'a');
  EXPECT_THAT(refusal(object), HasSubstr("spec.scheduling.queueName: has 1048576 characters"));
}

// What the API server holds passed a schema that may be another version's.
TEST(Verdict, AStoredObjectMayHaveFieldsThatNobodyKnows) {
  json object = job();
  object["spec"]["future"] = {{"a", 1}};
  object["spec"]["worker"]["template"]["future"] = 1;
  EXPECT_FALSE(parse_json(object).ok());
  EXPECT_TRUE(parse_stored(object).ok()) << parse_stored(object).message();
  object["spec"]["slotsPerWorker"] = 0;
  EXPECT_FALSE(parse_stored(object).ok());
}

}  // namespace
}  // namespace emj
