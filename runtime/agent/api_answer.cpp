// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/api_answer.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"

namespace empi::agent {

ApiAnswer refuse(int status, const std::string& error) {
  return {status, json_text::safe_text({{"error", error}})};
}

}  // namespace empi::agent
