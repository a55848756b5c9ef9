// SPDX-License-Identifier: Apache-2.0
#include "operator/api/requests.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "operator/api/json_member.hpp"
#include "operator/api/parse.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {

using nlohmann::json;

std::optional<double> amount_at(const json& amounts, const std::string& resource) {
  const json& found = member(amounts, resource.c_str());
  if (found.is_number()) return found.get<double>();
  return found.is_string() ? parse_quantity(found.get<std::string>()) : std::nullopt;
}

std::optional<double> request_of(const json& container, const std::string& resource) {
  const json& resources = member(container, "resources");
  for (const char* kind : {"requests", "limits"})
    if (const auto amount = amount_at(member(resources, kind), resource)) return amount;
  return std::nullopt;
}

double worker_cpus(const JobSpec& spec) {
  const json pod = empi::json_text::try_parse(spec.worker.pod.document);
  const auto first = json::json_pointer("/spec/containers/0");
  const bool known = pod.is_object() && pod.contains(first);
  return (known ? request_of(pod[first], "cpu") : std::nullopt).value_or(spec.slots_per_worker);
}

}  // namespace emj
