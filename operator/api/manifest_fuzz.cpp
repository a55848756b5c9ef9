// SPDX-License-Identifier: Apache-2.0
// A manifest of a job or a queue, and an object of the API server: read or refused, and what was read can be
// written and read again.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "operator/api/parse.hpp"
#include "operator/api/queue.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/fuzz.hpp"
#include "runtime/base/testing/places.hpp"

namespace fuzz = empi::fuzz;

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> all = {
      R"(j{"apiVersion":"elasticmpi.io/v1alpha1","kind":"ElasticMPIJob","metadata":{"name":"db","namespace":"a"},
"spec":{"worker":{"replicas":2,"minReplicas":1,"maxReplicas":4,"template":{"spec":{"containers":[{"name":"worker",
"image":"i","command":["program"],"resources":{"limits":{"cpu":"100m","memory":"1Gi"}}}]}}}},
"status":{"state":"Running","epoch":2,"workers":"0-1","conditions":[{"type":"Running","status":"True"}]}})"};
  all.push_back(
      R"(k{"apiVersion":"elasticmpi.io/v1alpha1","kind":"ElasticQueue","metadata":{"name":"main"},
"spec":{"pools":[{"name":"a","capacity":"Quota","quota":{"cpu":"8","memory":1e9}}],"priorities":[{"name":"x","value":1}]},
"status":{"fence":2,"pools":[{"name":"a","heldMilliCPU":4000}],"head":[{"name":"j","since":"2026-01-31T12:00:00Z"}]}})");
  for (const char* folder : {"good", "bad", "queues/good", "queues/bad"})
    for (const auto& entry :
         std::filesystem::directory_iterator(empi::testing::of_checkout("crds/corpus/") + folder)) {
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      all.push_back((std::string(folder).starts_with("queues") ? "q" : "y") + text.str());
    }
  return all;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(fuzz::text_of(data + 1, size - 1));
  if (data[0] == 'y') {
    emj::parse_yaml(text, "fuzz.yaml");
    return 0;
  }
  if (data[0] == 'q') {
    emj::parse_queue_yaml(text, "fuzz.yaml");
    return 0;
  }
  const nlohmann::json object = empi::json_text::try_parse(text);
  if (object.is_discarded()) return 0;
  if (data[0] == 'k') {
    emj::parse_queue_json(object);
    const auto queue = emj::parse_stored_queue(object);
    if (queue.ok() && emj::parse_stored_queue(emj::to_json(queue.value())).value() != queue.value())
      std::abort();
    return 0;
  }
  emj::parse_json(object);
  const auto job = emj::parse_stored(object);
  if (job.ok() && !emj::parse_stored(emj::to_json(job.value())).ok())
    std::abort();  // what was read, and written
  return 0;
}
