// SPDX-License-Identifier: Apache-2.0
// JSON that somebody might write: any type at any place, the same for the same seed.
#pragma once
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace emj::testing {

class RandomJson {
 public:
  using json = nlohmann::json;
  explicit RandomJson(unsigned seed) : random_(seed) {}

  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  json value(int depth = 2) {
    switch (number(depth > 0 ? 14 : 10)) {
      case 0:
        return nullptr;
      case 1:
        return true;
      case 2:
        return number(2) ? -1 : number(10);
      case 3:
        return number(2) ? json(std::int64_t{INT64_MIN}) : json(std::uint64_t{UINT64_MAX});
      case 4:
        return number(2) ? 1e300 : -.5;
      case 5:
        return "";
      case 6:
        return "gpu";
      case 7:
        return std::string(300, 'x');
      case 8:
        return json::array();
      case 9:
        return json::object();
      case 10:
      case 11: {
        json list = json::array();
        for (int i = number(3); i >= 0; --i) list.push_back(value(depth - 1));
        return list;
      }
      default: {
        json object = json::object();
        for (int i = number(3); i >= 0; --i) object[key()] = value(depth - 1);
        return object;
      }
    }
  }

  // Somewhere in `document` stands something else than before.
  void spoil(json& document) {
    std::vector<json*> places;
    collect(document, places);
    json& place = *places[static_cast<std::size_t>(number(static_cast<int>(places.size())))];
    if (place.is_object() && number(3) == 0)
      place[key()] = value();
    else if (place.is_array() && number(3) == 0)
      place.push_back(value());
    else
      place = value();
  }

 private:
  std::string key() {
    static const char* const keys[] = {"key", "name", "labels", "value", "spec", "cpu", "foo"};
    return keys[number(std::size(keys))];
  }
  static void collect(json& node, std::vector<json*>& places) {
    places.push_back(&node);
    if (node.is_structured())
      for (json& inner : node) collect(inner, places);
  }

  std::mt19937 random_;
};

}  // namespace emj::testing
