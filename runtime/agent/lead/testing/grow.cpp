// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/grow.hpp"

#include <cstdio>

#include "runtime/agent/lead/testing/program.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

// As long as the names on a cluster are.
Member member(int number, int slots) {
  char uid[40];
  std::snprintf(uid, sizeof uid, "%08x-5d1c-4b6e-9f3a-7c2e81b0a4d6", static_cast<unsigned>(number));
  const std::string name = "ocean-w-" + std::to_string(number);
  const std::string address =
      "10.42." + std::to_string(number / 250) + "." + std::to_string(1 + number % 250) + ":7400";
  return {uid, name, address, slots, "", 0};
}

}  // namespace

Growth grow_from_half(int pods, int slots) {
  World world(1);
  Growth growth;
  world.meter = &growth.lead;
  Program program(world, false);
  world.program = &program;
  world.on_end = [](const SimulatedPod&) {};
  const auto make = [&](int from, int to) {
    std::vector<Member> members;
    for (int number = from; number < to; ++number) {
      members.push_back(member(number, slots));
      world.pods[members.back().uid] =
          std::make_unique<SimulatedPod>(world, members.back(), std::vector<std::string>{"key"});
    }
    return members;
  };
  const StartRequest start{Fence{1}, make(0, pods / 2)};
  SimulatedPod& lead = *world.find(start.members.front().uid);
  growth.lead.uid = lead.uid();
  const auto view = [&] {
    MembershipView now;
    lead.lead().describe(now);
    return now;
  };
  const auto run_until = [&](const auto& holds) {
    for (int i = 0; i < 600 && !holds(); ++i) world.events.run_until(world.events.now() + 100ms);
    return holds();
  };
  lead.start(start);
  if (!run_until([&] { return view().ranks == pods / 2 * slots; })) return growth;
  world.events.run_until(world.events.now() + 2s);

  ChangeRequest request;
  request.id = "grow";
  request.fence = start.fence;
  request.epoch = view().membership.epoch;
  request.add = make(pods / 2, pods);
  request.deadline_ms = 60'000;
  growth.lead.on = true;
  if (lead.change(request).status != 200) return growth;
  run_until([&] { return lead.over() || view().state == ChangeState::Stable; });
  growth.lead.on = false;
  growth.committed = !lead.over() && view().membership.ranks() == pods * slots;
  return growth;
}

}  // namespace empi::agent::histories
