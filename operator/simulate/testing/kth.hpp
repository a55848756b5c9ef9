// SPDX-License-Identifier: Apache-2.0
// A year of a real machine, for tests: KTH-SP2 of the Parallel Workloads Archive (Lars Malinowsky's), in the
// folder that EMPI_DATA names. Where it is not there, the error says what was looked for.
#pragma once
#include <cstdlib>
#include <string>

#include "operator/simulate/trace.hpp"
#include "runtime/protocol/names.hpp"

namespace emj::simulate {

inline empi::Expected<Trace, TraceError> kth() {
  const char* folder = std::getenv(empi::names::kData);
  return read_trace(std::string(folder ? folder : "data") + "/swf-traces/KTH-SP2-1996-2.1-cln.swf.xz");
}

// Its first so many jobs.
inline empi::Expected<Trace, TraceError> kth(std::size_t jobs) {
  auto trace = kth();
  if (trace) trace.value().jobs.resize(jobs);
  return trace;
}

}  // namespace emj::simulate
