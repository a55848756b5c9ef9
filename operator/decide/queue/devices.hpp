// SPDX-License-Identifier: Apache-2.0
// Extended resources of nodes and pods ("nvidia.com/gpu", "hugepages-2Mi"): which names count, and where they
// stand in a Resources. The places are given once for the process, in the order in which names are met:
// nothing that is decided depends on it. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace emj::queue {

inline constexpr std::size_t kDevices = 8;  // kinds that are counted

// Of Kubernetes' names of resources those that nodes have beside processors, memory and storage.
bool is_device(const std::string& resource);
// Nothing: it is none, or kDevices others were met before.
std::optional<std::size_t> device_place(const std::string& resource);
// Of a place that was given.
std::string device_name(std::size_t place);

}  // namespace emj::queue
