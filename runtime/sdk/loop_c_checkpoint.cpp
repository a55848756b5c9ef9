// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/loop_c.hpp"

extern "C" int elastic_loop_checkpoint(elastic_loop* loop, long long every, const char* folder) {
  return elastic::said("elastic_loop_checkpoint", [&] {
    if (!loop) throw elastic::Error("loop is NULL");
    loop->loop.checkpoint(every, folder ? folder : "");
  });
}
