// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/log.hpp"

#include <fmt/args.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace empi::log {
namespace {

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warn:
      return spdlog::level::warn;
    case Level::Error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void write(Level level, const char* format, std::initializer_list<Value> values) {
  spdlog::logger& logger = *spdlog::default_logger_raw();
  const auto to = spdlog_level(level);
  if (!logger.should_log(to)) return;
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const Value& value : values) std::visit([&](const auto& v) { arguments.push_back(v); }, value);
  logger.log(to, spdlog::string_view_t(fmt::vformat(format, arguments)));
}

void to_stderr(const std::string& program, const std::string& pattern, const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(pattern);
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

}  // namespace empi::log
