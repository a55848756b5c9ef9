// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/input.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace emj::cli {

namespace {

constexpr std::size_t kLongestLine = 600;
constexpr std::size_t kLargestManifest = std::size_t{1} << 20;  // an API server takes little more

// A message of a server may have several lines, and be of any length.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  if (text.size() > kLongestLine) text = text.substr(0, kLongestLine - 3) + "...";
  return text;
}

}  // namespace

Refusal::Refusal(const std::string& text, Kind kind) : std::runtime_error(one_line(text)), kind_(kind) {}

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
