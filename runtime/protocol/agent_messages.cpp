// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/agent_messages.hpp"

#include <map>
#include <stdexcept>
#include <vector>

#include "runtime/base/json_text.hpp"
#include "runtime/protocol/describe.hpp"

namespace empi {
namespace {

using nlohmann::json;

// Whether `op` is one of the kinds from the I-th on; `message` is it then.
template <std::size_t I = 0>
bool read_as(Message& message, const json& from, std::string_view op) {
  if constexpr (I == std::variant_size_v<Message>) {
    return false;
  } else {
    if (std::variant_alternative_t<I, Message>::kOp != op) return read_as<I + 1>(message, from, op);
    wire::read(from, message.emplace<I>());
    return true;
  }
}

}  // namespace

Membership JobRecord::membership() const {
  std::map<std::string_view, Member> placed;
  for (const Namespace& space : spaces)
    for (const NamespaceNode& node : space.nodes)
      placed[node.uid] = {node.uid,   node.host, node.address, static_cast<int>(node.count),
                          space.name, node.first};
  Membership all{epoch, {}};
  for (const std::string& uid : members) {
    const auto at = placed.find(uid);
    if (at == placed.end()) throw std::invalid_argument("member " + uid + " is in no namespace of the job");
    all.members.push_back(at->second);
  }
  return all;
}

std::string_view op_of(const Message& message) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::kOp; }, message);
}

std::string encode(const Message& message) {
  json object = std::visit([](const auto& m) { return wire::written(m); }, message);
  object["op"] = op_of(message);
  const std::vector<std::uint8_t> bytes = json_text::cbor(object);
  return {bytes.begin(), bytes.end()};
}

Message decode_message(std::string_view bytes) {
  const json object = json_text::from_cbor(bytes);
  const auto op = object.at("op").get<std::string>();
  Message message;
  try {
    if (read_as(message, object, op)) return message;
  } catch (const std::exception& error) {
    throw std::invalid_argument("message '" + op + "': " + error.what());
  }
  throw std::invalid_argument("unknown message '" + op + "'");
}

}  // namespace empi
