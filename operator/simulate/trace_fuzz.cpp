// SPDX-License-Identifier: Apache-2.0
// A trace: read or refused in one line. What was read can be made into jobs.
#include <algorithm>
#include <cstdlib>

#include "operator/simulate/workload.hpp"
#include "runtime/base/testing/fuzz.hpp"

namespace fuzz = empi::fuzz;

std::vector<std::string> fuzz::seeds() {
  return {"; MaxProcs: 100\n1 10 -1 100 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n",
          ";MaxNodes: 8\n\n2 5 -1 0 -1 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\r\n3 1e3 0 4.5 2 1 1 2 9 1 1 1 1 "
          "1 1 1 1 1"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = emj::simulate::parse_trace(fuzz::text_of(data, size), "fuzz.swf");
  if (!trace && std::ranges::count(trace.error().message, '\n') > 0) std::abort();
  // A size is a table, so machines are small here.
  if (trace) emj::simulate::make_workload(trace.value(), std::min(trace.value().processors, 1000), {});
  return 0;
}
