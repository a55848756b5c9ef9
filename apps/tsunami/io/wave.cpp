// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/wave.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

// Whether a line is words only: none begins as a number does, and none is an undefined or infinite one.
bool names_columns(const std::vector<std::string_view>& line) {
  return std::ranges::none_of(line, [](std::string_view word) {
    const std::string text = empi::lower(std::string(word));
    return std::isalpha(static_cast<unsigned char>(text.front())) == 0 || text.starts_with("nan") ||
           text.starts_with("inf");
  });
}

double number(const TextScanner& scanner, std::string_view word, const char* what) {
  double value = 0;
  if (!TextScanner::parse(word, value))
    scanner.fail(std::string(what) + " as a finite number", in_quotes(word), "correct the line");
  return value;
}

}  // namespace

TimeSeries read_wave(const InputFile& file) {
  TextScanner scanner(file.path(), file.text());
  TimeSeries wave;
  bool first = true;
  while (const auto line = scanner.next_line()) {
    const auto words = TextScanner::words(*line);
    if (words.empty() || words[0].front() == '#') continue;
    if (std::exchange(first, false) && words.size() > 1 && names_columns(words)) continue;
    if (words.size() != 2)
      scanner.fail("two columns, seconds and metres", in_quotes(*line), "correct the line");
    const double t = number(scanner, words[0], "a time in seconds"),
                 v = number(scanner, words[1], "a height in metres");
    if (std::abs(v) > kHighestWave)
      scanner.fail(empi::format("a height in metres from %g to %g", -kHighestWave, kHighestWave),
                   in_quotes(words[1]), "correct the line");
    if (!wave.t.empty() && t <= wave.t.back())
      scanner.fail(empi::format("a time after that of the sample before, %g s", wave.t.back()),
                   in_quotes(words[0]), "sort the samples, and give each time once");
    wave.t.push_back(t), wave.v.push_back(v);
  }
  if (wave.t.size() < 2)
    scanner.fail("at least two samples, seconds and metres", std::to_string(wave.t.size()),
                 "check that this is a wave");
  if (wave.t.back() <= 0)
    scanner.fail("a last time above 0 s, the start of the run", empi::format("%g", wave.t.back()),
                 "count the seconds from the start of the run");
  return wave;
}

double height_at(const TimeSeries& wave, double time) {
  return time < wave.t.front() || time > wave.t.back() ? 0 : wave.at(time);
}

}  // namespace io
