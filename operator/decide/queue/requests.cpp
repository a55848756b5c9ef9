// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/requests.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"
#include "operator/api/requests.hpp"

namespace emj::queue {
namespace {

using nlohmann::json;

constexpr double kMebi = 1 << 20;

Requests larger(const Requests& a, const Requests& b) {
  Requests most{larger(a.plain, b.plain), a.devices};
  for (const auto& [name, count] : b.devices) most.devices[name] = std::max(most.devices[name], count);
  return most;
}

}  // namespace

Requests& Requests::operator+=(const Requests& other) {
  plain += other.plain;
  for (const auto& [name, count] : other.devices) devices[name] += count;
  return *this;
}

Requests& Requests::operator-=(const Requests& other) {
  plain -= other.plain;
  for (const auto& [name, count] : other.devices) {
    devices[name] -= count;
    if (devices[name] == 0) devices.erase(name);
  }
  return *this;
}

Resources Requests::counted() const {
  Resources all = plain;
  all.devices = queue::counted(devices);
  return all;
}

Requests requests_of_list(const json& amounts) {
  Requests requests{{rounded_up(amount_at(amounts, "cpu").value_or(0) * 1000),
                     rounded_up(amount_at(amounts, "memory").value_or(0) / kMebi)}};
  if (!amounts.is_object()) return requests;
  for (const auto& [name, amount] : amounts.items())
    if (is_device(name))
      if (const auto count = rounded_up(amount_at(amounts, name).value_or(0)); count > 0)
        requests.devices[name] = count;
  return requests;
}

Requests requests_of_container(const json& container) {
  const json& resources = member(container, "resources");
  json amounts = member(resources, "limits");
  if (!amounts.is_object()) amounts = json::object();
  if (const json& requests = member(resources, "requests"); requests.is_object()) amounts.update(requests);
  return requests_of_list(amounts);
}

Requests requests_of_pod(const json& spec, const Resources& unsaid) {
  Requests running, most;
  for (const json& container : member(spec, "initContainers")) {
    Requests meanwhile = running;
    meanwhile += requests_of_container(container);
    if (text(container, "restartPolicy") == "Always") running = meanwhile;
    most = larger(most, meanwhile);
  }
  running.plain += unsaid;
  for (const json& container : member(spec, "containers")) running += requests_of_container(container);
  Requests requests = larger(most, running);
  const Requests whole = requests_of_container(spec);
  if (whole.plain.milli_cpu > 0) requests.plain.milli_cpu = whole.plain.milli_cpu;
  if (whole.plain.memory_mib > 0) requests.plain.memory_mib = whole.plain.memory_mib;
  requests += requests_of_list(member(spec, "overhead"));
  return requests;
}

}  // namespace emj::queue
