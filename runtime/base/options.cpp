// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options.hpp"

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace empi::options {
namespace {

CLI::Validator finite_number(double low, double high) {
  const std::string range = CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high);
  return {[=](std::string& text) {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
            return "Value " + text + " is no number from " + range;
          },
          "number from " + range};
}

// CLI11's ranges let "nan" pass, and where there is no range "inf" as well. What is no number at all is
// refused when it is converted. Without a name: the help says nothing of it.
CLI::Validator finite() {
  return {[](std::string& text) {
            double value = 0;
            if (!CLI::detail::lexical_cast(text, value) || std::isfinite(value)) return std::string();
            return "Value " + text + " is no finite number";
          },
          ""};
}

bool has_fraction(const Target& target) {
  return std::holds_alternative<double*>(target) || std::holds_alternative<std::vector<double>*>(target);
}

void add_check(CLI::Option& option, const Check& check) {
  switch (check.kind) {
    case Check::Kind::None:
      break;
    case Check::Kind::Integer:
      option.check(CLI::Range(check.least, check.most));
      break;
    case Check::Kind::Number:
      option.check(CLI::Range(check.low, check.high));
      break;
    case Check::Kind::FiniteNumber:
      option.check(finite_number(check.low, check.high));
      break;
    case Check::Kind::Positive:
      option.check(CLI::PositiveNumber);
      break;
    case Check::Kind::NotNegative:
      option.check(CLI::NonNegativeNumber);
      break;
    case Check::Kind::OneOf: {
      std::vector<std::string> words;
      for (const char* word : check.words)
        if (word) words.emplace_back(word);
      option.check(CLI::IsMember(words));
      break;
    }
    case Check::Kind::ExistingFolder:
      option.check(CLI::ExistingDirectory);
      break;
  }
}

CLI::Option* add_target(CLI::App& app, const Option& option) {
  const std::string name(option.name), help(option.help);
  return std::visit(
      [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(name, *target, help);
        else
          return app.add_option(name, *target, help);
      },
      option.target);
}

void add(CLI::App& app, const Option& description) {
  CLI::Option& option = *add_target(app, description);
  const Rules& rules = description.rules;
  if (!rules.variable.empty()) option.envname(std::string(rules.variable));
  if (rules.required) option.required();
  if (rules.rewrite)
    option.transform(CLI::Validator(
        [rewrite = rules.rewrite](std::string& text) {
          text = rewrite(text);
          return std::string();
        },
        std::string(rules.rewrite_name)));
  add_check(option, rules.check);
  if (has_fraction(description.target)) option.check(finite());
  if (rules.repeated) option.expected(1)->take_all()->allow_extra_args(false);
  if (rules.count > 0) option.expected(rules.count);
  if (rules.hidden) option.group("");
  if (rules.shows_default) option.capture_default_str();
}

void add(CLI::App& app, const Program& program) {
  app.footer(std::string(program.footer));
  if (program.reads_file) {
    app.set_config("--config", "", "read options from a TOML or INI file");
    // Otherwise what stands in a [section] would be ignored, and of a misspelt name the value be blamed.
    app.allow_config_extras(CLI::config_extras_mode::error);
  }
  for (const Option& option : program.options) add(app, option);
  for (const Command& command : program.commands) {
    CLI::App& to = *app.add_subcommand(std::string(command.name), std::string(command.what));
    to.footer(std::string(command.footer));
    for (const Option& option : command.options) add(to, option);
  }
  if (!program.commands.empty()) app.require_subcommand(1);
}

// CLI11 takes no notice of an environment variable whose value an option's check refuses: the default would
// be used without a word. This says so instead.
void refuse_bad_variables(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string& variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value && *value != '\0' && option->empty())
      throw CLI::ValidationError(variable, "'" + std::string(value) + "' is refused: expected " +
                                               option->get_type_name() + ", the " +
                                               option->get_description());
  }
}

// Takes the words after "--" off a command that wants them. Returns how many are left.
int take_rest(const Program& program, int argc, char** argv) {
  if (argc < 2) return argc;
  const auto command = std::ranges::find(program.commands, std::string_view(argv[1]), &Command::name);
  if (command == program.commands.end() || !command->rest) return argc;
  char** const mark = std::find(argv + 2, argv + argc, std::string_view("--"));
  if (mark == argv + argc) return argc;
  command->rest->assign(mark + 1, argv + argc);
  return static_cast<int>(mark - argv);
}

void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ConfigError& error) {
    throw CLI::ConfigError("--config " + app.get_config_ptr()->as<std::string>() + ": " + error.what() +
                               "; expected lines NAME = VALUE, of options without their --",
                           CLI::ExitCodes::ConfigError);
  }
}

}  // namespace

std::optional<int> read(const Program& program, int argc, char** argv,
                        const std::function<void()>& complete) {
  CLI::App app{std::string(program.what), std::string(program.name)};
  add(app, program);
  try {
    parse(app, take_rest(program, argc, argv), argv);
    refuse_bad_variables(app);
    if (program.command) *program.command = app.get_subcommands().front()->get_name();
    try {
      if (complete) complete();
    } catch (const Refused& refused) {
      throw CLI::ValidationError(refused.where, refused.what());
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

void read_or_exit(const Program& program, int argc, char** argv, const std::function<void()>& complete) {
  if (const auto code = read(program, argc, argv, complete)) std::exit(*code == 0 ? 0 : 2);
}

}  // namespace empi::options
