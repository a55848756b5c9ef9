// SPDX-License-Identifier: Apache-2.0
// index.html of a run's folder: its pictures, its resource profile and its decisions in words, for any
// browser and without a server. It names files beside it only, and nothing on another host.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace io {

/// Two columns: what, and how much.
struct PageTable {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

struct PageText {
  std::string title, about;  // about: one or two sentences
  /// What a picture shows, by the beginning of its file name, in the order of the page. Others come last,
  /// under their names.
  std::vector<std::pair<std::string, std::string>> captions;
  std::vector<PageTable> tables = {};
};

/// The PNG files of a folder, in the order of the page.
std::vector<std::filesystem::path> pictures(const std::filesystem::path& folder, const PageText& text);

/// index.html from what is there. While the job runs the page says how far it is and loads itself again.
/// Throws FileError.
void write_page(const std::filesystem::path& folder, const PageText& text, bool running);

/// Prints the page's path and those of all pictures, one a line.
void print_pictures(const std::filesystem::path& folder, const PageText& text);

}  // namespace io
