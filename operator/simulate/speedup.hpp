// SPDX-License-Identifier: Apache-2.0
// How programs scale, for jobs of traces, which do not say: empi simulate --speedup.
//
//   amdahl:E    Amdahl's law with the parallel efficiency E at the size that the job asks for
//   downey:A,S  average parallelism A and its variance S (Downey, "A model for speedup of parallel programs",
//               UC Berkeley CSD-97-933, 1997), the same for all jobs
//   FILE.csv    a measured curve, the same for all jobs: columns workers and speed
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/base/expected.hpp"

namespace emj::simulate {

// On so many processors, over that at the size a job asks for.
using Speed = std::function<double(int processors)>;

struct AmdahlLaw {
  double efficiency = .8;  // at the size that a job asks for
};
struct DowneyLaw {
  double parallelism = 1, variance = 0;
};
struct SpeedTable {
  std::map<int, double> speeds;  // by workers
};

class SpeedupModel {
 public:
  SpeedupModel() = default;  // amdahl:.8

  // Or what is wrong with it, in words.
  static empi::Expected<SpeedupModel, std::string> parse(std::string_view text);
  static empi::Expected<SpeedupModel, std::string> parse_table(std::string_view text,
                                                               const std::string& name);

  // Of a job that asks for so many. `off`: by how much its efficiency there is another one than that of the
  // model, of Amdahl's law (--spread).
  Speed of(int reference, double off = 0) const;
  bool spreads() const { return std::holds_alternative<AmdahlLaw>(law_); }
  // Largest size of at most `most` with this parallel efficiency, by the model; 1 at least.
  int size_at(double efficiency, int reference, int most) const;

 private:
  using Law = std::variant<AmdahlLaw, DowneyLaw, SpeedTable>;
  explicit SpeedupModel(Law law) : law_(std::move(law)) {}

  Law law_;
};

}  // namespace emj::simulate
