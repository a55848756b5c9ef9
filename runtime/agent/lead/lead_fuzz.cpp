// SPDX-License-Identifier: Apache-2.0
// A lead that is told anything by its pods and its controller, in any order: it goes on or ends the job.
#include <nlohmann/json.hpp>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/testing/fuzz.hpp"

using namespace empi;
using namespace empi::agent;

namespace {

constexpr int kPods = 3, kNewcomers = 2, kSlots = 2;

Member pod(int number) {
  const std::string n = std::to_string(number);
  return {"u" + n, "job-w-" + n, "10.0.0." + n + ":7400", kSlots, "", 0};
}

std::string uid(std::uint8_t byte) { return "u" + std::to_string(byte % (kPods + kNewcomers + 1)); }

void change(Lead& lead, std::uint8_t what, Moment now) {
  ChangeRequest request;
  request.id = "c" + std::to_string(what);
  request.fence = {1};
  request.epoch = lead.membership().epoch;
  request.deadline_ms = 1000;
  if (what & 1)
    for (int i = 0; i < kNewcomers; ++i) request.add.push_back(pod(kPods + i));
  if (what & 2) request.remove = {uid(what >> 2)};
  if (!refusal_of(request)) lead.begin_change(request, now);
}

}  // namespace

// Each step: what it is, whose it is, and for a message its bytes.
std::vector<std::string> fuzz::seeds() {
  std::string started;
  for (const std::uint64_t step : {1, 2})
    for (char from = 0; from < kPods; ++from)
      started += std::string{0, from} + field(encode(StepDone{"", step, {}}));
  RankReport ready;
  ready.kind = RankReport::Kind::Ready;
  ready.proc = {"job.1", 0};
  ready.change = "c1";
  return {
      started + std::string{1, 1, 2, 9} + std::string{0, 0} +
          field(encode(RankReported{ready, {ready.proc}})),
      started + std::string{1, 2, 2, 9, 3, 2},
      started + std::string{0, 1} + field(encode(Beat{})) + std::string{0, 1} + field(encode(Collective{}))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(fuzz::text_of(data, size));
  Moment now;
  Lead lead({"u0", "job"});
  StartRequest start;
  start.fence = {1};
  for (int i = 0; i < kPods; ++i) start.members.push_back(pod(i));
  lead.start(start, now);
  while (!input.empty()) {
    const std::uint8_t what = input.byte() % 5, whose = input.byte();
    switch (what) {
      case 0:
        if (const auto message = fuzz::decoded([&] { return decode_message(input.field()); }))
          lead.on(*message, uid(whose), now);
        break;
      case 1:
        change(lead, whose, now);
        break;
      case 2:
        now.clock += std::chrono::milliseconds(whose * 100);
        now.running += std::chrono::milliseconds(whose * 100);
        now.window += whose / 10;
        lead.tick(now);
        lead.second(now);
        break;
      case 3:
        lead.pod_lost(uid(whose), "is gone", now);
        break;
      default:
        lead.cancel_change("c" + std::to_string(whose), {1}, now);
    }
    for (const LeadAction& action : lead.take_actions())
      if (const auto* send = std::get_if<SendMessage>(&action)) encode(send->message);
    MembershipView view;
    lead.describe(view);
  }
  return 0;
}
