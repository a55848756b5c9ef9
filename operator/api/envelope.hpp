// SPDX-License-Identifier: Apache-2.0
// What every object has besides spec and status, and what becomes of an object that has been read. Private to
// operator/api.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "operator/api/parse.hpp"
#include "operator/api/reader.hpp"
#include "operator/api/schema.hpp"
#include "operator/api/yaml.hpp"

namespace emj::reading {

void read_type(Context& context, const json& object, const char* kind);
void read_metadata(Context& context, const json& object, bool refuse_unknown, Metadata& metadata);
// `spec` or `status`; null where it is absent, or no object, which is refused.
const json* section_of(Context& context, const json& object, const char* name);
void refuse_other_sections(Context& context, const json& object);

// `spec` against its schema, then into a value; `absent` says what a kind needs of it.
template <class T>
void read_spec(Context& context, const json& object, const Schema& schema, const char* absent, T& spec) {
  const json* const found = section_of(context, object, "spec");
  if (!found) {
    if (!object.contains("spec") || object["spec"].is_null()) context.refuse("spec", "missing", absent);
    return;
  }
  check(context, schema, *found, "spec");
  if (!context.violations.empty()) return;
  Reader reader(context, *found, "spec");
  fields::describe(reader, spec);
}

// The value, unless reading it was refused or `check` refuses it; violations in the order of lines.
template <class T, class Check>
Result<T> finish(Context& context, T value, Check check, const std::string& filename) {
  // A field that could not be read holds its default: checking it further would only mislead.
  if (context.violations.empty()) {
    std::vector<Violation> found = check(value);
    for (Violation& violation : found)
      if (context.lines) violation.line = line_of(*context.lines, violation.field);
    if (!refuses(found)) return {std::move(value), std::move(found), filename};
    context.violations = std::move(found);
  }
  std::stable_sort(context.violations.begin(), context.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.line < b.line; });
  return {std::move(context.violations), filename};
}

}  // namespace emj::reading
