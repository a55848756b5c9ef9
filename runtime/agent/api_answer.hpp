// SPDX-License-Identifier: Apache-2.0
// Answers of the agent's API as values: lead and pod make them, and know nothing of HTTP servers.
#pragma once
#include <string>

namespace empi::agent {

// An answer: 200 with a JSON body, or an error status with {"error": text}.
struct ApiAnswer {
  int status = 200;
  std::string body;  // JSON text
};
ApiAnswer refuse(int status, const std::string& error);

}  // namespace empi::agent
