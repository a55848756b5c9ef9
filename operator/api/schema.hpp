// SPDX-License-Identifier: Apache-2.0
// The schemas of the CRD files, as the API server goes by them: types, ranges, lengths, enumerations,
// required and unknown fields, patterns. The files are in the program (embed_schemas.cpp), so that a local
// run and the operator refuse what the API server refuses, at the same field. Its CEL rules stand in
// validate.cpp. Private to operator/api.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace emj::reading {

struct Context;

struct Range {
  std::int64_t minimum = std::numeric_limits<std::int64_t>::min();
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();

  bool has(std::int64_t value) const { return value >= minimum && value <= maximum; }
};
// " from 1 to 8", " of at least 1", "".
std::string range_text(const Range& range);

struct Schema {
  enum class Type { Any, Object, List, Text, Whole, Number, Boolean, WholeOrText };

  Type type = Type::Any;
  bool nullable = false;  // else null is as good as absent
  bool open = false;      // fields that it does not have may be there
  bool time = false;
  Range values;  // of a number
  Range count;   // of a list's entries, of a text's characters
  std::vector<std::string> choices;
  std::vector<std::string> required;
  std::string pattern;
  std::optional<std::regex> expression;  // of the pattern
  std::map<std::string, std::unique_ptr<Schema>> fields;
  std::unique_ptr<Schema> entries;  // of a list, of an object of free keys

  // Where a field of this name is below, shallowest first: "policy.threshold.lowPercent", or "".
  std::string find(const std::string& name) const;
};

const Schema& job_schema();  // of spec
const Schema& queue_schema();

// Refuses into `context` what `value`, at `path`, has against the schema.
void check(Context& context, const Schema& schema, const nlohmann::json& value, const std::string& path);

}  // namespace emj::reading
