#include "operator/kube/int_or_string.hpp"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

namespace emj::kube {

std::optional<IntOrString> read_int_or_string(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return static_cast<std::int32_t>(number);
}

std::optional<std::int64_t> scaled(const IntOrString& value, std::int64_t total, Rounding rounding) {
  if (const auto* number = std::get_if<std::int32_t>(&value)) return *number;
  const std::string& text = std::get<std::string>(value);
  std::int32_t percent = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || percent < 0 || end - stop != 1 || *stop != '%') return std::nullopt;
  const std::int64_t product = total * percent;
  return rounding == Rounding::Down ? product / 100 : (product + 99) / 100;
}

}  // namespace emj::kube
