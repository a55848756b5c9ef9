// SPDX-License-Identifier: Apache-2.0
#include "operator/api/requests.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "operator/api/parse.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {

using nlohmann::json;

std::optional<double> request_of(const json& container, const std::string& resource) {
  for (const std::string kind : {"requests", "limits"}) {
    const auto place = json::json_pointer("/resources") / kind / resource;
    if (!container.is_object() || !container.contains(place)) continue;
    const json& amount = container[place];
    if (amount.is_number()) return amount.get<double>();
    if (!amount.is_string()) continue;
    if (const auto read = parse_quantity(amount.get<std::string>())) return read;
  }
  return std::nullopt;
}

double worker_cpus(const JobSpec& spec) {
  const json pod = empi::json_text::try_parse(spec.worker.pod.document);
  const auto first = json::json_pointer("/spec/containers/0");
  const bool known = pod.is_object() && pod.contains(first);
  return (known ? request_of(pod[first], "cpu") : std::nullopt).value_or(spec.slots_per_worker);
}

}  // namespace emj
