// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/devices.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace emj::queue {
namespace {

struct Names {
  std::mutex mutex;
  std::vector<std::string> by_place;

  std::optional<std::size_t> place_of(const std::string& resource) const {
    const auto found = std::ranges::find(by_place, resource);
    if (found == by_place.end()) return std::nullopt;
    return static_cast<std::size_t>(found - by_place.begin());
  }
};

Names& names() {
  static Names all;
  return all;
}

}  // namespace

bool is_device(const std::string& resource) {
  const auto slash = resource.find('/');
  if (slash == std::string::npos) return resource.starts_with("hugepages-");
  const std::string domain = resource.substr(0, slash);
  return domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io") && !domain.starts_with("requests.");
}

std::optional<std::size_t> device_of_nodes(const std::string& resource) {
  if (!is_device(resource)) return std::nullopt;
  Names& known = names();
  const std::lock_guard lock(known.mutex);
  const auto place = known.place_of(resource);
  if (place || known.by_place.size() == kDevices) return place;
  known.by_place.push_back(resource);
  return known.by_place.size() - 1;
}

std::optional<std::size_t> known_device(const std::string& resource) {
  Names& known = names();
  const std::lock_guard lock(known.mutex);
  return known.place_of(resource);
}

CountedDevices counted(const Devices& devices) {
  CountedDevices places{};
  for (const auto& [name, count] : devices)
    if (const auto place = known_device(name)) places[*place] = count;
  return places;
}

std::string device_name(std::size_t place) {
  Names& known = names();
  const std::lock_guard lock(known.mutex);
  return place < known.by_place.size() ? known.by_place[place] : "";
}

}  // namespace emj::queue
