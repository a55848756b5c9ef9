// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/report/page_text.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace surrogate {

io::PageText page_text(const nlohmann::json& run) {
  const auto given = run.find("case");
  const std::string name = given != run.end() && given->is_string() ? given->get<std::string>() : "";
  const bool channel = run.contains("reynolds");
  return {
      channel        ? "Four obstacles in a fluid channel, found by workers that come and go"
      : name.empty() ? "Parameters of a model, found by workers that come and go"
                     : "Parameters of " + name + ", found by workers that come and go",
      std::string(
          channel ? "Ten noisy sensors say how the water flows; the job finds out where the obstacles are."
                  : "Measurements say what a model has to give; the job finds out which parameters explain "
                    "them, and how surely.") +
          " Each phase has as many workers as pay for its queue.",
      {{"resources", "Workers over the run time, with the beginnings of the phases"},
       {"channel", "The channel: the flow, and where the obstacles are by the posterior"},
       {"marginals", "Marginals of the posterior"},
       {"corner", "Pairs of parameters"},
       {"traces", "Traces of the coldest chains"},
       {"error", "Error of the surrogate over its grid points"}}};
}

}  // namespace surrogate
