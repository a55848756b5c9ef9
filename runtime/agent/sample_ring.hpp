// The lead's last measuring windows, merged over pods. Pure.
#pragma once
#include <map>
#include <vector>

#include "runtime/protocol/sample.hpp"

namespace empi::agent {

class SampleRing {
 public:
  void add(const WindowSample& partial);
  // Windows with an index above `since`, newest last. The newest may still lack pods.
  std::vector<WindowSample> since(std::int64_t index) const;

 private:
  std::map<std::int64_t, WindowSample> windows_;
};

}  // namespace empi::agent
