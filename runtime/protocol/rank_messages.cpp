// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/rank_messages.hpp"

#include <array>
#include <exception>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/protocol/describe.hpp"

namespace empi {
namespace {

constexpr std::array<std::pair<RankReport::Kind, std::string_view>, 14> kReports = {{
    {RankReport::Kind::Hello, "hello"},
    {RankReport::Kind::Ready, "ready"},
    {RankReport::Kind::Built, "built"},
    {RankReport::Kind::AtBegin, "at_begin"},
    {RankReport::Kind::Agreed, "agreed"},
    {RankReport::Kind::Past, "past"},
    {RankReport::Kind::Adapted, "adapted"},
    {RankReport::Kind::Finalizing, "finalizing"},
    {RankReport::Kind::Finalized, "finalized"},
    {RankReport::Kind::Queue, "queue"},
    {RankReport::Kind::WorldDropped, "world_dropped"},
    {RankReport::Kind::Checkpoint, "checkpoint"},
    {RankReport::Kind::Recoverable, "recoverable"},
    {RankReport::Kind::Recovered, "recovered"},
}};
constexpr std::array<std::pair<RankOrder::Kind, std::string_view>, 8> kOrders = {{
    {RankOrder::Kind::Prepare, "prepare"},
    {RankOrder::Kind::Build, "build"},
    {RankOrder::Kind::Cancel, "cancel"},
    {RankOrder::Kind::Release, "release"},
    {RankOrder::Kind::Attach, "attach"},
    {RankOrder::Kind::Leave, "leave"},
    {RankOrder::Kind::Lost, "lost"},
    {RankOrder::Kind::Recover, "recover"},
}};

template <class Names, class Kind>
std::string_view name_in(const Names& names, Kind kind) {
  for (const auto& [one, name] : names)
    if (one == kind) return name;
  return "?";
}
template <class Names, class Kind>
bool kind_in(const Names& names, std::string_view text, Kind& kind) {
  for (const auto& [one, name] : names)
    if (name == text) return kind = one, true;
  return false;
}

template <class Message>
std::optional<Message> decode(std::string_view text) {
  try {
    Message message;
    wire::read(json_text::parse(text, json_text::kDeepestMessage), message);
    return message;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string_view to_string(RankReport::Kind kind) { return name_in(kReports, kind); }
std::string_view to_string(RankOrder::Kind kind) { return name_in(kOrders, kind); }
bool enum_from(std::string_view text, RankReport::Kind& kind) { return kind_in(kReports, text, kind); }
bool enum_from(std::string_view text, RankOrder::Kind& kind) { return kind_in(kOrders, text, kind); }

// Reports tell what programs and MPI call their objects, in any encoding.
std::string encode(const RankReport& report) { return json_text::safe_text(wire::written(report)); }
std::string encode(const RankOrder& order) { return json_text::safe_text(wire::written(order)); }
std::optional<RankReport> decode_report(std::string_view text) { return decode<RankReport>(text); }
std::optional<RankOrder> decode_order(std::string_view text) { return decode<RankOrder>(text); }

}  // namespace empi
