// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/watch_framer.hpp"

#include <algorithm>
#include <optional>

#include "runtime/base/json_text.hpp"

namespace emj::kube {

using nlohmann::json;

const char* to_string(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::Added:
      return "ADDED";
    case WatchEvent::Type::Modified:
      return "MODIFIED";
    case WatchEvent::Type::Deleted:
      return "DELETED";
    case WatchEvent::Type::Bookmark:
      return "BOOKMARK";
    case WatchEvent::Type::Error:
      return "ERROR";
  }
  return "unknown";
}

namespace {

std::optional<WatchEvent::Type> type_of(const std::string& name) {
  using Type = WatchEvent::Type;
  for (const Type type : {Type::Added, Type::Modified, Type::Deleted, Type::Bookmark, Type::Error})
    if (name == to_string(type)) return type;
  return std::nullopt;
}

}  // namespace

bool WatchFramer::feed(const char* data, std::size_t size, const Receive& receive) {
  if (!problem_.empty()) return false;
  while (size > 0) {
    const char* const end = std::find(data, data + size, '\n');
    const auto length = static_cast<std::size_t>(end - data);
    if (line_.size() + length > max_line_) {
      problem_ = "an event is longer than " + std::to_string(max_line_) + " bytes";
      line_.clear();
      return false;
    }
    const bool complete = length < size;
    if (!complete) {
      line_.append(data, length);
      return true;
    }
    bool go_on;
    if (line_.empty()) {
      go_on = take_line(data, length, receive);
    } else {
      line_.append(data, length);
      const std::string line = std::exchange(line_, {});
      go_on = take_line(line.data(), line.size(), receive);
    }
    if (!go_on) return false;
    data += length + 1;
    size -= length + 1;
  }
  return true;
}

bool WatchFramer::take_line(const char* data, std::size_t size, const Receive& receive) {
  if (std::all_of(data, data + size, [](char c) { return c == ' ' || c == '\r' || c == '\t'; })) return true;
  json line = empi::json_text::try_parse({data, size});
  const auto fail = [&](const std::string& why) {
    problem_ = "an event cannot be read: " + why;
    return false;
  };
  if (!line.is_object()) return fail("no JSON object");
  const auto type = line.find("type");
  if (type == line.end() || !type->is_string()) return fail("it has no type");
  const auto known = type_of(type->get<std::string>());
  if (!known) return fail("its type is '" + type->get<std::string>().substr(0, 40) + "'");
  const auto object = line.find("object");
  if (object == line.end() || !object->is_object()) return fail("it has no object");
  return receive({*known, std::move(*object), {}});
}

}  // namespace emj::kube
