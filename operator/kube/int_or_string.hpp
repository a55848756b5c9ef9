#pragma once

// IntOrString of Kubernetes: maxUnavailable: 1 or "25%", a port by number or by name. Quantities are read by
// parse_quantity() of operator/api.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

namespace emj::kube {

using IntOrString = std::variant<std::int32_t, std::string>;

// nullopt for null, absent (discarded) and every other type, and for numbers that are no int32.
std::optional<IntOrString> read_int_or_string(const nlohmann::json& value);
enum class Rounding { Down, Up };
// A number as it is, a percentage of `total` rounded as asked; nullopt for any other text.
std::optional<std::int64_t> scaled(const IntOrString& value, std::int64_t total, Rounding rounding);

}  // namespace emj::kube
