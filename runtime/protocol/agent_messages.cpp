// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/agent_messages.hpp"

#include <map>
#include <stdexcept>
#include <vector>

#include "runtime/protocol/cbor_fields.hpp"

namespace empi {
namespace {

// Whether `op` is one of the kinds from the I-th on; `message` is it then.
template <std::size_t I = 0>
bool take_as(Message& message, wire::CborReader& in, wire::CborMembers& members, std::string_view op) {
  if constexpr (I == std::variant_size_v<Message>) {
    return false;
  } else {
    if (std::variant_alternative_t<I, Message>::kOp != op) return take_as<I + 1>(message, in, members, op);
    wire::take_fields(in, members, message.emplace<I>());
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

// The kind comes first: whoever reads it need not look for it.
std::string encode(const Message& message) {
  wire::CborWriter out;
  std::visit(
      [&](const auto& m) {
        out.map(1 + wire::count_fields(m));
        out.text("op");
        out.text(m.kOp);
        wire::put_fields(out, m);
      },
      message);
  return out.take();
}

Message decode_message(std::string_view bytes) {
  wire::CborReader in(bytes);
  wire::CborMembers members(in);
  members.find("op");
  const std::string op(in.text());
  Message message;
  try {
    if (take_as(message, in, members, op)) {
      if (!in.rest().empty()) throw std::invalid_argument("something follows it");
      return message;
    }
  } catch (const std::exception& error) {
    throw std::invalid_argument("message '" + op + "': " + error.what());
  }
  throw std::invalid_argument("unknown message '" + op + "'");
}

}  // namespace empi
