// CLI11 takes no notice of an environment variable whose value an option's check refuses: the default would
// be used without a word. This says so instead.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace empi::agent {

// Call after app.parse(). Throws CLI::ValidationError with the variable, its value and what is wrong with it,
// when a variable has a value that its option refuses. An empty value is no value; a flag on the command line
// wins.
inline void refuse_bad_variables(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string& variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value && *value != '\0' && option->empty())
      throw CLI::ValidationError(variable, "'" + std::string(value) + "' is refused: expected " +
                                               option->get_type_name() + ", the " +
                                               option->get_description());
  }
}

// For numbers with a fraction; CLI::Range lets "nan" pass.
inline CLI::Validator number_between(double low, double high) {
  const std::string range = CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high);
  return {[=](std::string& text) {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
            return "Value " + text + " is no number from " + range;
          },
          "number from " + range};
}

}  // namespace empi::agent
