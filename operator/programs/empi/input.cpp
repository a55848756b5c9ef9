// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/input.hpp"

#include <filesystem>
#include <fstream>

namespace emj::cli {

namespace {

constexpr std::size_t kLongestLine = 600;
constexpr std::size_t kLargestManifest = std::size_t{1} << 20;  // an API server takes little more

std::string shortened(std::string text) {
  if (text.size() > kLongestLine) text = text.substr(0, kLongestLine - 3) + "...";
  return text;
}

}  // namespace

Refusal::Refusal(const std::string& text, Kind kind)
    : std::runtime_error(shortened(printable(text))), kind_(kind) {}

std::string printable(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte < ' ' || byte == 0x7f) text[i] = ' ';
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) text.replace(i, 2, 2, ' ');  // U+0080 to U+009F
  }
  return text;
}

std::string read_input(const std::string& file) {
  std::error_code none;
  std::ifstream stream;
  if (!std::filesystem::is_directory(file, none)) stream.open(file, std::ios::binary);
  if (!stream.is_open()) throw Refusal(file + ": cannot be read: name a file with one manifest");
  std::string text(kLargestManifest + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kLargestManifest) throw Refusal(file + ": is larger than 1 MiB, which no job is");
  return text;
}

}  // namespace emj::cli
