// SPDX-License-Identifier: Apache-2.0
// The body of a watch, cut anywhere: the events are the same however it is cut.
#include <cstdlib>

#include "operator/kube/watch_framer.hpp"
#include "runtime/base/testing/fuzz.hpp"

namespace fuzz = empi::fuzz;

std::vector<std::string> fuzz::seeds() {
  return {
      "\x05"
      R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}}
{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}
{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}
)"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  const auto events = [&](std::size_t step) {
    emj::kube::WatchFramer framer(4096);
    std::size_t count = 0;
    const auto count_one = [&](const emj::kube::WatchEvent&) { return ++count != 0; };
    for (std::size_t at = 1; at < size; at += step)
      if (!framer.feed(reinterpret_cast<const char*>(data) + at, std::min(step, size - at), count_one)) break;
    return count;
  };
  if (events(piece) != events(size)) std::abort();
  return 0;
}
