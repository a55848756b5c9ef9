// SPDX-License-Identifier: Apache-2.0
// What has become of a program's checkpoints, as far as it has said. Level-triggered: the last word on each.
#pragma once
#include <cstdint>
#include <string>

namespace empi {

struct CheckpointNews {
  // Of the newest whole one; number 0: none yet.
  std::int64_t number = 0, iteration = 0, bytes = 0;
  double seconds = 0;            // that writing it took
  std::int64_t wall_millis = 0;  // when it was whole
  std::string trouble = {};      // why there is no newer one; "" when the last was written
  // What the program goes on from; "" when it began from its start.
  std::string restored = {};
  std::int64_t restored_iteration = 0;

  bool operator==(const CheckpointNews&) const = default;

  // What a newer message says and this does not know yet.
  void update(const CheckpointNews& newer) {
    if (!newer.restored.empty()) {
      restored = newer.restored;
      restored_iteration = newer.restored_iteration;
      return;
    }
    trouble = newer.trouble;
    if (newer.number == 0) return;
    number = newer.number;
    iteration = newer.iteration;
    bytes = newer.bytes;
    seconds = newer.seconds;
    wall_millis = newer.wall_millis;
  }

  static void describe(auto& m, auto&& field) {
    field("number", m.number);
    field("iteration", m.iteration);
    field("bytes", m.bytes);
    field("seconds", m.seconds);
    field("wallMillis", m.wall_millis);
    field("trouble", m.trouble);
    field("restored", m.restored);
    field("restoredIteration", m.restored_iteration);
  }
};

}  // namespace empi
