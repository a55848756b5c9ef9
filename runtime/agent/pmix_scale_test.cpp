// SPDX-License-Identifier: Apache-2.0
// What PMIx asks of an agent when it is told of a large namespace, which the agent waits for. It must be
// linear in the ranks and short beside the silence that others bear (decision R16).
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/agent/pmix_server.hpp"
#include "runtime/base/clocks.hpp"

namespace empi::agent {
namespace {

struct NoRanks : PmixUpcalls {
  void collective(std::string, std::vector<ProcId>, std::string, BlobReply) override {}
  void direct_modex(ProcId, BlobReply) override {}
  void publish(std::vector<Published>, StatusReply) override {}
  void lookup(std::vector<std::string>, bool, int, LookupReply) override {}
  void unpublish(std::vector<std::string>, ProcId, StatusReply) override {}
  void client_connected(ProcId) override {}
  void client_finalized(ProcId) override {}
  void client_said(ProcId, int, std::string, StatusReply) override {}
  void client_aborted(ProcId, int, std::string) override {}
  void event(int, ProcId, std::size_t, std::string) override {}
};

// Of all threads: PMIx works in one of its own. Others on the machine do not count.
double processor_seconds() { return static_cast<double>(profile::clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9; }

Namespace space_of(int pods, std::uint32_t slots) {
  Namespace space{"job." + std::to_string(pods), {}};
  for (int i = 0; i < pods; ++i) {
    const std::string n = std::to_string(i);
    space.nodes.push_back(
        {"uid-" + n, "ocean-w-" + n, "10.0.0.1:7400", static_cast<std::uint32_t>(i) * slots, slots});
  }
  return space;
}

TEST(PmixAtScale, ANamespaceCostsWhatItsRanksCost) {
  char folder[] = "/tmp/empi-pmix.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  NoRanks upcalls;
  {
    PmixServer server(folder, "ocean-w-0", "uid-0", upcalls);
    const auto cost = [&](int pods) {
      const double before = processor_seconds();
      server.add_namespace(space_of(pods, 64), 1024);
      return processor_seconds() - before;
    };
    cost(10);  // what is made at the first time
    const double of_50 = cost(50), of_200 = cost(200);
    RecordProperty("seconds_for_12800_ranks", std::to_string(of_200));
    EXPECT_LT(of_200, 2.0) << "of 12,800 ranks";
    EXPECT_LT(of_200, 8 * of_50) << "4 times as many";
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace empi::agent
