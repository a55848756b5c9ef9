// SPDX-License-Identifier: Apache-2.0
// Extended resources of nodes and pods ("nvidia.com/gpu", "hugepages-2Mi"): which kinds count, and where they
// stand in a Resources. Nodes say which there are: the places are given once for the process, in the order in
// which they are met on nodes, and nothing that is decided depends on it. What jobs, pods and quotas name is
// looked up: a tenant may write any name. Any thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace emj::queue {

inline constexpr std::size_t kDevices = 8;  // kinds that are counted

using Devices = std::map<std::string, std::int64_t>;  // by name
using CountedDevices = std::array<std::int64_t, kDevices>;

// Of Kubernetes' names of resources those that nodes have beside processors, memory and storage.
bool is_device(const std::string& resource);
// A node has some of it. Nothing: it is no device, or kDevices others were met before.
std::optional<std::size_t> device_of_nodes(const std::string& resource);
// Nothing: no node that was met has it.
std::optional<std::size_t> known_device(const std::string& resource);
std::string device_name(std::size_t place);
// What is known of them.
CountedDevices counted(const Devices& devices);

}  // namespace emj::queue
