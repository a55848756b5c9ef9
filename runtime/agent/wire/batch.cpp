// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/wire/batch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/protocol/integers.hpp"

namespace empi::agent {

using nlohmann::json;

void to_json(json& j, const Batch& batch) {
  json messages = json::array();
  for (const std::string& message : batch.messages)
    messages.push_back(json::binary({message.begin(), message.end()}));
  j = {{"from", batch.from},
       {"to", batch.to},
       {"session", batch.session},
       {"sequence", batch.sequence},
       {"messages", std::move(messages)}};
}

// Of a receipt, in milliseconds: no sum or other unit of it overflows.
constexpr std::int64_t kLongestAge = std::int64_t{1} << 40;

std::string encode(const Receipt& receipt) {
  return json_text::text({{kReactorAge, receipt.reactor_age.count()}});
}

Receipt decode_receipt(std::string_view text) {
  const json answer = json_text::try_parse(text, json_text::kDeepestMessage);
  if (!answer.is_object()) return {};
  const auto age = answer.find(kReactorAge);
  if (age == answer.end() || !age->is_number_integer()) return {};
  return {std::chrono::milliseconds(std::clamp(age->get<std::int64_t>(), std::int64_t{0}, kLongestAge))};
}

void from_json(const json& j, Batch& batch) {
  j.at("from").get_to(batch.from);
  j.at("to").get_to(batch.to);
  j.at("session").get_to(batch.session);
  wire::get_integer(j, "sequence", batch.sequence);
  for (const auto& [field, name] :
       {std::pair("from", &batch.from), std::pair("to", &batch.to), std::pair("session", &batch.session)})
    if (name->size() > kLongestBatchName)
      throw std::invalid_argument(std::string(field) + " has " + std::to_string(name->size()) +
                                  " bytes: expected at most " + std::to_string(kLongestBatchName));
  batch.messages.clear();
  for (const json& message : j.at("messages")) {
    const auto& bytes = message.get_ref<const json::binary_t&>();
    batch.messages.emplace_back(std::string(bytes.begin(), bytes.end()));
  }
}

}  // namespace empi::agent
