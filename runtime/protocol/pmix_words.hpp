// SPDX-License-Identifier: Apache-2.0
// What travels between agents of PMIx: status codes, published data.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "runtime/protocol/binary.hpp"
#include "runtime/protocol/ids.hpp"

namespace empi {

// PMIx status codes that agents give themselves (checked against pmix_common.h in pmix_server.cpp).
inline constexpr int kPmixSuccess = 0;
inline constexpr int kPmixError = -1;
inline constexpr int kPmixTimeout = -24;
inline constexpr int kPmixNotFound = -46;

// A published datum: `value` is a packed PMIx info, opaque here.
struct Published {
  std::string key;
  ProcId publisher;
  std::string value;
  bool first_read = false;  // gone after the first lookup that returns it

  bool operator==(const Published&) const = default;
  static void describe(auto& m, auto&& field) {
    field("key", m.key);
    field("publisher", m.publisher);
    field("value", binary(m.value));
    field("firstRead", m.first_read);
  }
};

// What a lead's rendezvous passes on to the next lead's.
struct RendezvousState {
  std::vector<Published> data;
  std::deque<std::string> dead_ports, dead_spaces;  // of changes that are over

  bool operator==(const RendezvousState&) const = default;
  static void describe(auto& m, auto&& field) {
    field("data", m.data);
    field("deadPorts", m.dead_ports);
    field("deadSpaces", m.dead_spaces);
  }
};

}  // namespace empi
