// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/unreadable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"
#include "operator/api/status.hpp"
#include "operator/api/time.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::manager {

using nlohmann::json;

std::optional<json> with_false_condition(const json& object, const std::string& type,
                                         const std::string& reason, const std::string& words) {
  const json& status = member(object, "status");
  json conditions = member(status, "conditions");
  if (!conditions.is_array()) conditions = json::array();
  const std::string message = empi::json_text::cut(words, kLongestConditionMessage);
  auto told = std::ranges::find_if(conditions,
                                   [&](const json& condition) { return text(condition, "type") == type; });
  const bool was_false = told != conditions.end() && text(*told, "status") == "False";
  if (was_false && text(*told, "message") == message) return std::nullopt;
  if (told == conditions.end()) told = conditions.insert(conditions.end(), json::object());
  const json since = was_false ? member(*told, "lastTransitionTime") : json();
  *told = {{"type", type},
           {"status", "False"},
           {"reason", reason},
           {"message", message},
           {"lastTransitionTime",
            since.is_string()
                ? since
                : json(to_string(std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now())))}};
  const json& generation = member(member(object, "metadata"), "generation");
  if (generation.is_number_integer()) (*told)["observedGeneration"] = generation;
  json changed = object;
  if (!status.is_object()) changed["status"] = json::object();
  changed["status"]["conditions"] = std::move(conditions);
  return changed;
}

}  // namespace emj::manager
