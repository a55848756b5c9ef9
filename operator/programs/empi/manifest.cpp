// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/manifest.hpp"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/local/process.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli {

using nlohmann::json;

namespace {

Violation bad_override(const std::string& text, const std::string& reason, const std::string& expected) {
  return {"--set " + text, reason, expected, "", 0, false};
}

// A value as YAML would read it: number, true, false, null, a list or text.
json value_of(const std::string& text) {
  json value = empi::json_text::try_parse(text);
  return value.is_discarded() ? json(text) : value;
}

std::vector<Violation> apply(const std::string& text, json& object) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return {bad_override(text, "has no '='", "FIELD=VALUE, for example worker.maxReplicas=8")};
  std::string path = text.substr(0, equals);
  if (path.rfind("spec.", 0) != 0 && path.rfind("metadata.", 0) != 0) path = "spec." + path;
  json* node = &object;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, dot - start);
    if (!node->is_object() && !node->is_null())
      return {bad_override(text, "the field above " + name + " is no object", "a field of the manifest")};
    node = &(*node)[name];
    start = dot + 1;
  }
  *node = value_of(text.substr(equals + 1));
  return {};
}

}  // namespace

std::optional<std::string> read_kept_file(const std::string& file) {
  return local::can_be_read_again(file) ? local::read_file(file) : std::nullopt;
}

Violation no_kept_file(const std::string& file, const std::string& content) {
  std::error_code none;
  const auto kind = std::filesystem::status(file, none);
  const bool once = std::filesystem::is_other(kind);  // neither a file nor a folder, and there
  return {"",
          once ? "is a pipe or a device, and a run reads it again when it is edited" : "cannot be read",
          "a file with " + content,
          "",
          0,
          false};
}

Result<ElasticMPIJob> read_manifest(const std::string& file, const Overrides& overrides) {
  const auto text = read_kept_file(file);
  if (!text) return {{no_kept_file(file, "an ElasticMPIJob manifest")}, file};
  Result<ElasticMPIJob> job = load_manifest(*text, file, overrides);
  if (!job) return job;
  auto late = validate_start(job.value(), std::chrono::floor<Millis>(std::chrono::system_clock::now()));
  return late.empty() ? job : Result<ElasticMPIJob>(std::move(late), file);
}

Result<ElasticMPIJob> load_manifest(const std::string& text, const std::string& filename,
                                    const Overrides& overrides) {
  const Origin origin = overrides.queued ? Origin::Queued : Origin::Manifest;
  Result<ElasticMPIJob> parsed = parse_yaml(text, filename, origin);
  if (!parsed || (overrides.fields.empty() && overrides.arguments.empty())) return parsed;
  json object = to_json(parsed.value());
  object.erase("status");
  for (const std::string& field : overrides.fields) {
    const auto violations = apply(field, object);
    if (!violations.empty()) return Result<ElasticMPIJob>(violations, filename);
  }
  Result<ElasticMPIJob> changed = parse_json(object, filename, origin);
  if (changed && !overrides.arguments.empty()) {  // it has a container, then
    json& container = object["spec"]["worker"]["template"]["spec"]["containers"][0];
    for (const std::string& argument : overrides.arguments) container["args"].push_back(argument);
    changed = parse_json(object, filename, origin);
  }
  if (!changed) return changed;
  const auto violations = validate(changed.value(), origin);
  if (refuses(violations)) return Result<ElasticMPIJob>(violations, filename);
  return Result<ElasticMPIJob>(changed.value(), parsed.violations());
}

}  // namespace emj::cli
