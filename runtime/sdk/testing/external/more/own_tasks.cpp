// SPDX-License-Identifier: Apache-2.0
// A program of one's own with independent tasks: the squares of a thousand numbers, each by some rank.
#include <cstdio>
#include <elastic_master_worker.hpp>
#include <numeric>

int main(int argc, char** argv) {
  elastic::MasterWorker job(argc, argv);
  const auto squares = job.map(1000, [](std::int64_t i) { return i * i; });
  if (job.master()) {
    const auto sum = std::accumulate(squares.begin(), squares.end(), std::int64_t{0});
    std::printf("own-tasks: %zu tasks, sum %lld\n", squares.size(), static_cast<long long>(sum));
  }
  return 0;
}
