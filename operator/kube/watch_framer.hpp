// SPDX-License-Identifier: Apache-2.0
// The body of a watch, taken apart: bytes in, events out. Pure. Bytes arrive cut anywhere; an event is a
// line.
#pragma once
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/kube/clock.hpp"

namespace emj::kube {

struct WatchEvent {
  enum class Type { Added, Modified, Deleted, Bookmark, Error };
  Type type = Type::Added;
  nlohmann::json object;  // of an Error: a Status
  Instant read{};         // when its last bytes were read, before anything was made of them
};
const char* to_string(WatchEvent::Type type);

class WatchFramer {
 public:
  explicit WatchFramer(std::size_t max_line = std::size_t{16} << 20) : max_line_(max_line) {}

  using Receive = std::function<bool(WatchEvent event)>;  // false: enough
  // False when receive() said so, or when the stream cannot be read any further: then problem() says why,
  // events may have been missed, and nothing more is accepted.
  bool feed(const char* data, std::size_t size, const Receive& receive);
  // A line has begun and not ended: at the end of the stream this is a broken connection, never an event.
  bool half_line() const { return !line_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  bool take_line(const char* data, std::size_t size, const Receive& receive);

  const std::size_t max_line_;
  std::string line_;
  std::string problem_;
};

}  // namespace emj::kube
