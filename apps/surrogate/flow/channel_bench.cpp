// SPDX-License-Identifier: Apache-2.0
// ./dev bench channel: one run of the forward model, 100 x 20 cells, on one core.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "apps/surrogate/flow/channel.hpp"

int main() {
  flow::Channel channel(flow::four_obstacles());
  const double centres[] = {1.4, 0.7, 3.9, 1.2, 5.8, 0.8, 8.2, 1.1};
  std::vector<double> out(static_cast<std::size_t>(channel.of().outputs()));
  double least = 1e300;
  for (int k = 0; k < 15; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    channel.run(centres, out);
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const flow::Box& box = channel.flow().box();
  std::fprintf(stderr, "# %d x %d cells, %ld time steps\n", box.nx, box.ny, channel.steps());
  std::printf("bench channel.ms %.4g ms\n", 1e3 * least);
  std::printf("bench channel.cells_per_s %.4g cells/s\n",
              static_cast<double>(box.nx) * box.ny * static_cast<double>(channel.steps()) / least);
  return 0;
}
