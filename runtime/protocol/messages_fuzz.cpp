// SPDX-License-Identifier: Apache-2.0
// All that agents, ranks, sidecars and controllers say: taken or refused, and what was taken can be
// written again.
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/fuzz.hpp"
#include "runtime/protocol/agent_messages.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/log_lines.hpp"
#include "runtime/protocol/rank_messages.hpp"

using namespace empi;

namespace {

template <class T>
void as(const nlohmann::json& value) {
  if (const auto taken = fuzz::decoded([&] { return value.get<T>(); }))
    json_text::safe_text(nlohmann::json(*taken));
}

void from_text(std::string_view text) {
  const nlohmann::json value = json_text::try_parse(text, json_text::kDeepestMessage);
  if (value.is_discarded()) return;
  as<MembershipView>(value);
  as<StartRequest>(value);
  as<ChangeRequest>(value);
  as<ChangeStatus>(value);
  as<WindowSample>(value);
  as<Report>(value);
}

void from_cbor(std::string_view bytes) {
  if (const auto taken = fuzz::decoded([&] { return decode_message(bytes); })) encode(*taken);
}

Member member() { return {"u1", "job-w-1", "10.0.0.1:7400", 2, "job.1", 2}; }

}  // namespace

std::vector<std::string> fuzz::seeds() {
  MembershipView view;
  view.uid = "u0";
  view.membership = {{2}, {member()}};
  ChangeStatus change;
  change.request = {"c1", {2}, {4}, {member()}, {"u1"}, 1000, "drain"};
  RankReport report;
  report.proc = {"job.1", 3};
  report.change = "c1";
  RankOrder order;
  order.procs = {{"job.1", 0}};
  std::vector<std::string> all = {
      "r" + encode(report), "o" + encode(order),
      "t" + json_text::text(nlohmann::json(Report{view, {change}, {WindowSample{}}})),
      "t" + json_text::text(
                nlohmann::json(StartRequest{{1}, {member()}, std::chrono::seconds(3), ProbeMode::Root}))};
  const ProbeMark mark{{"job.1", 3}, 7, true, false, true, 2, 3, 4, 5, 6};
  for (const Message& message :
       {Message(Beat{.leave = true}), Message(Publish{}), Message(Lookup{}), Message(Collective{}),
        Message(Step{}), Message(StepDone{"c1", 3, {true, 7, "", {mark}}}), Message(HandOver{}),
        Message(End{})})
    all.push_back("m" + encode(message));
  return all;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  switch (data[0]) {
    case 'm':
      from_cbor(bytes);
      break;
    case 'r':
      if (const auto report = decode_report(bytes)) encode(*report);
      break;
    case 'o':
      if (const auto order = decode_order(bytes)) encode(*order);
      break;
    default:
      from_text(bytes);
  }
  return 0;
}
