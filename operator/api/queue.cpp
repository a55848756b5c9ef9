// SPDX-License-Identifier: Apache-2.0
// Reading, checking and writing an ElasticQueue.

#include "operator/api/queue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "operator/api/checks.hpp"
#include "operator/api/envelope.hpp"
#include "operator/api/queue_fields.hpp"
#include "operator/api/reader.hpp"
#include "operator/api/writer.hpp"
#include "operator/api/yaml.hpp"

namespace emj {
namespace {

using checking::refuse;
using checking::Violations;
using nlohmann::json;
using reading::Context;
using reading::Reader;

ElasticQueue read_queue(Context& context, const json& object, bool refuse_unknown) {
  ElasticQueue queue;
  queue.metadata.namespace_name.clear();
  reading::read_type(context, object, kQueueKind);
  reading::read_metadata(context, object, refuse_unknown, queue.metadata);
  reading::read_spec(context, object, reading::queue_schema(), "at least spec.pools", queue.spec);
  if (const json* status = reading::section_of(context, object, "status")) {
    Reader reader(context, *status, "status");
    fields::describe(reader, queue.status);
  }
  reading::refuse_other_sections(context, object);
  return queue;
}

Result<ElasticQueue> finish(Context& context, ElasticQueue queue, const std::string& filename) {
  return reading::finish(
      context, std::move(queue), [](const ElasticQueue& read) { return validate(read); }, filename);
}

Result<ElasticQueue> parse(const json& object, const std::string& filename, bool refuse_unknown) {
  if (!object.is_object())
    return {std::vector<Violation>{{"", "is no JSON object", "an ElasticQueue", ""}}, filename};
  Context context;
  context.refuse_unknown = refuse_unknown;
  ElasticQueue queue = read_queue(context, object, false);
  return finish(context, std::move(queue), filename);
}

// Entries of a list that are known by a name.
template <class T>
void check_names(const std::vector<T>& entries, const std::string& path, const std::string T::* name,
                 const char* what, Violations& out) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    const std::string& own = entries[i].*name;
    if (own.empty())
      refuse(out, at, std::string("has no ") + what, std::string("a ") + what);
    else if (!seen.insert(own).second)
      refuse(out, at, "is the second one of \"" + own + "\"", std::string("each ") + what + " once");
  }
}

void check_pool(const PoolSpec& pool, const std::string& path, Violations& out) {
  if (!pool.name.empty() && !checking::is_label(pool.name, 63))
    refuse(out, path + ".name", "is \"" + pool.name + "\"", checking::label_words(63));
  if (pool.capacity == PoolCapacity::Quota && !pool.quota.cpu)
    refuse(out, path + ".quota", "has no cpu", "quota.cpu, the CPUs that the pool may give out",
           "or capacity: Nodes, for what the matching nodes have");
}

}  // namespace

std::vector<Violation> validate(const ElasticQueue& queue) {
  Violations out;
  const QueueSpec& spec = queue.spec;
  if (!checking::is_label(queue.metadata.name, 63))
    refuse(out, "metadata.name", "is \"" + queue.metadata.name + "\"", checking::label_words(63));
  check_names(spec.pools, "spec.pools", &PoolSpec::name, "name", out);
  for (std::size_t i = 0; i < spec.pools.size(); ++i)
    check_pool(spec.pools[i], "spec.pools[" + std::to_string(i) + "]", out);
  check_names(spec.priorities, "spec.priorities", &QueuePriority::name, "name", out);
  check_names(spec.order.fair_share.shares, "spec.order.fairShare.shares", &NamespaceShare::namespace_name,
              "namespace", out);
  return out;
}

bool admits(const QueueSpec& queue, const std::string& namespace_name) {
  return queue.namespaces.empty() ||
         std::ranges::find(queue.namespaces, namespace_name) != queue.namespaces.end();
}

Result<ElasticQueue> parse_queue_yaml(const std::string& text, const std::string& filename) {
  Result<YamlDocument> loaded = load_yaml(text, filename, "one ElasticQueue");
  if (!loaded) return {loaded.violations(), filename};
  Context context;
  context.lines = &loaded.value().lines;
  context.boolean_words = &loaded.value().boolean_words;
  ElasticQueue queue = read_queue(context, loaded.value().object, true);
  return finish(context, std::move(queue), filename);
}

Result<ElasticQueue> parse_queue_json(const json& object, const std::string& filename) {
  return parse(object, filename, true);
}

Result<ElasticQueue> parse_stored_queue(const json& object, const std::string& filename) {
  return parse(object, filename, false);
}

json queue_spec_to_json(const QueueSpec& spec) { return writing::written(spec); }
json queue_status_to_json(const QueueStatus& status) { return writing::written(status); }

json to_json(const ElasticQueue& queue) {
  return {{"apiVersion", kApiVersion},
          {"kind", kQueueKind},
          {"metadata", writing::metadata_to_json(queue.metadata)},
          {"spec", queue_spec_to_json(queue.spec)},
          {"status", queue_status_to_json(queue.status)}};
}

std::vector<FieldInfo> known_queue_fields() {
  std::vector<FieldInfo> all;
  all.reserve(256);
  writing::list_fields<QueueSpec>("spec.", all);
  writing::list_fields<QueueStatus>("status.", all);
  return all;
}

}  // namespace emj
