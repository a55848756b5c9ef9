// SPDX-License-Identifier: Apache-2.0
// Asks the pods of the other side of a change for something, a few at a time: each asks each other one, and
// all at once would be as many threads and connections in every pod as there are pods. Pure: `ask` sends.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/protocol/membership.hpp"

namespace empi::agent {

class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  static constexpr std::size_t kAtOnce = 16;
  // Says what is wrong, or nothing. To be called once.
  using Answered = std::function<void(const std::string& error)>;
  using Ask = std::function<void(const Member& pod, Answered answered)>;

  // `first`: which of the pods is asked first, modulo their number. Who asks gives another one than others
  // do, so that not all ask the same pods at the same time. `done` is called once, when all have answered,
  // with one of the errors; at once when there are none to be asked.
  static void begin(std::vector<Member> pods, std::size_t first, Ask ask, Answered done);

 private:
  Fetch(std::vector<Member> pods, std::size_t first, Ask ask, Answered done);
  void ask_next();

  const std::vector<Member> pods_;
  const std::size_t first_;
  const Ask ask_;
  const Answered done_;
  std::size_t asked_ = 0, answered_ = 0;
  std::string error_;
};

}  // namespace empi::agent
