// SPDX-License-Identifier: Apache-2.0
// What an agent answers, and what a worker leaves as its termination message: a tenant's, so that it may be
// anything.
#include <nlohmann/json.hpp>

#include "operator/agents/convert.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/fuzz.hpp"
#include "runtime/protocol/json.hpp"

using namespace empi;

std::vector<std::string> fuzz::seeds() {
  WindowSample window;
  window.index = 1'763'800'000;
  window.width_s = 1;
  window.ranks = 4;
  window.elapsed_s = window.useful_s = 3.5;
  WindowSample next = window;
  ++next.index;
  MembershipView view;
  view.uid = "u0";
  view.membership = {{2}, {{"u1", "job-w-1", "10.0.0.1:7400", 2, "job.1", 2}}};
  view.outcome = {JobResult::Failed, "rank 1 exited with code 3", 3, {"last words"}};
  return {json_text::text(nlohmann::json(Report{view, {ChangeStatus{}}, {window, next}})),
          json_text::text(nlohmann::json(view.outcome))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  emj::read_termination(text);
  const auto report =
      fuzz::decoded([&] { return json_text::parse(text, json_text::kDeepestMessage).get<Report>(); });
  if (!report) return 0;
  emj::to_samples(report->windows, emj::Seconds(2));
  emj::to_runtime_view(report->view, report->changes);
  return 0;
}
