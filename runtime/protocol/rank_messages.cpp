#include "runtime/protocol/rank_messages.hpp"

#include <nlohmann/json.hpp>

namespace empi {

using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(RankReport::Kind, {{RankReport::Kind::Hello, "hello"},
                                                {RankReport::Kind::Built, "built"},
                                                {RankReport::Kind::AtBegin, "at_begin"},
                                                {RankReport::Kind::Agreed, "agreed"},
                                                {RankReport::Kind::Past, "past"},
                                                {RankReport::Kind::Adapted, "adapted"},
                                                {RankReport::Kind::Finalizing, "finalizing"},
                                                {RankReport::Kind::Finalized, "finalized"},
                                                {RankReport::Kind::Queue, "queue"},
                                                {RankReport::Kind::WorldDropped, "world_dropped"}})
NLOHMANN_JSON_SERIALIZE_ENUM(RankOrder::Kind, {{RankOrder::Kind::Build, "build"},
                                               {RankOrder::Kind::Cancel, "cancel"},
                                               {RankOrder::Kind::Release, "release"},
                                               {RankOrder::Kind::Attach, "attach"},
                                               {RankOrder::Kind::Leave, "leave"},
                                               {RankOrder::Kind::Lost, "lost"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProcId, nspace, rank)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankReport, kind, proc, pid, change, ok, error, duplicate_ms,
                                                accept_ms, merge_ms, split_ms, warm_ms, build_ms, wait_ms,
                                                pause_ms, redistribute_ms, lost_ms, bytes, parked, tasks,
                                                address)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankOrder, kind, change, port, joining, leaving,
                                                staying_count, leaving_count, joining_count, epoch, procs,
                                                probes)

namespace {

template <class Message>
std::optional<Message> decode(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object() || !value.contains("kind")) return std::nullopt;
  try {
    return value.get<Message>();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string encode(const RankReport& report) { return json(report).dump(); }
std::string encode(const RankOrder& order) { return json(order).dump(); }
std::optional<RankReport> decode_report(std::string_view text) { return decode<RankReport>(text); }
std::optional<RankOrder> decode_order(std::string_view text) { return decode<RankOrder>(text); }

}  // namespace empi
