// SPDX-License-Identifier: Apache-2.0
// Which world ranks have in common. In a recovery that is interrupted by another one, some have adopted a
// world already that others have not; every rank knows its number in those that it was in. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace empi::rank {

struct PlaceInWorld {
  std::string world;  // its name: a line
  int rank = 0;
  bool operator==(const PlaceInWorld&) const = default;
};

struct CommonWorld {
  std::string world;
  std::vector<int> ranks;  // of each of them, there
  bool operator==(const CommonWorld&) const = default;
};

// `places`: for each rank where it was, the newest first. The newest of the first rank that all were in.
std::optional<CommonWorld> common_world(const std::vector<std::vector<PlaceInWorld>>& places);

// As text, for PMIx's store, and back. What is no such text becomes no place, and nothing.
std::string to_text(const std::vector<PlaceInWorld>& places);
std::vector<PlaceInWorld> places_from(const std::string& text);
std::string to_text(const std::optional<CommonWorld>& common);
std::optional<CommonWorld> common_world_from(const std::string& text);

}  // namespace empi::rank
