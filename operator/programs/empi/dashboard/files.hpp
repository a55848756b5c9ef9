// SPDX-License-Identifier: Apache-2.0
// The files beside this one that a browser gets, as they were when the program was built.
#pragma once
#include <array>

#include "operator/programs/empi/dashboard/page.hpp"

namespace emj::cli::dashboard {

struct File {
  const char* path;
  const char* type;
  const char* text;
};
inline constexpr std::array<File, 3> kFiles{{{"/", "text/html; charset=utf-8", kHtml},
                                             {"/page.css", "text/css; charset=utf-8", kCss},
                                             {"/page.js", "text/javascript; charset=utf-8", kJs}}};

inline constexpr const char* kDataPath = "/data";

}  // namespace emj::cli::dashboard
