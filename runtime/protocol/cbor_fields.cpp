// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/cbor_fields.hpp"

namespace empi::wire {

RankRun take_run(CborReader& in, std::size_t most) {
  if (in.array() != 3) throw std::invalid_argument("a run of ranks has not three elements");
  RankRun run;
  run.nspace = in.text();
  run.first = in.integer<std::uint32_t>();
  run.count = in.integer<std::uint32_t>();
  return bounded(std::move(run), most);
}

}  // namespace empi::wire
