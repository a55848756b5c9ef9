// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/common_world.hpp"

#include <algorithm>
#include <sstream>

namespace empi::rank {

std::optional<CommonWorld> common_world(const std::vector<std::vector<PlaceInWorld>>& places) {
  if (places.empty()) return std::nullopt;
  for (const PlaceInWorld& candidate : places.front()) {
    CommonWorld common{candidate.world, {}};
    for (const auto& of_rank : places) {
      const auto at = std::ranges::find(of_rank, candidate.world, &PlaceInWorld::world);
      if (at == of_rank.end()) break;
      common.ranks.push_back(at->rank);
    }
    if (common.ranks.size() == places.size()) return common;
  }
  return std::nullopt;
}

std::string to_text(const std::vector<PlaceInWorld>& places) {
  std::string text;
  for (const PlaceInWorld& place : places) text += std::to_string(place.rank) + " " + place.world + "\n";
  return text;
}

std::vector<PlaceInWorld> places_from(const std::string& text) {
  std::istringstream lines(text);
  std::vector<PlaceInWorld> places;
  for (PlaceInWorld place; lines >> place.rank && lines.get() == ' ' && std::getline(lines, place.world);)
    places.push_back(place);
  return places;
}

std::string to_text(const std::optional<CommonWorld>& common) {
  if (!common) return "";
  std::string text = common->world + "\n";
  for (const int rank : common->ranks) text += std::to_string(rank) + " ";
  return text;
}

std::optional<CommonWorld> common_world_from(const std::string& text) {
  std::istringstream lines(text);
  CommonWorld common;
  if (!std::getline(lines, common.world)) return std::nullopt;
  for (int rank; lines >> rank;) common.ranks.push_back(rank);
  return common;
}

}  // namespace empi::rank
