// SPDX-License-Identifier: Apache-2.0
// Makes a header of the CRD files: what their schemas say of `spec` as JSON texts, without what is for
// readers and for the API server alone. Run while the project is built. Usage: embed_schemas NAME=FILE...
// >HEADER

#include <yaml-cpp/yaml.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

using nlohmann::json;

json scalar(const YAML::Node& node) {
  if (node.Tag() == "!") return node.Scalar();  // quoted
  if (bool value = false; YAML::convert<bool>::decode(node, value)) return value;
  if (std::int64_t value = 0; YAML::convert<std::int64_t>::decode(node, value)) return value;
  return node.Scalar();
}

json schema_of(const YAML::Node& node) {
  static const std::set<std::string> plain = {"type",
                                              "format",
                                              "minimum",
                                              "maximum",
                                              "minItems",
                                              "maxItems",
                                              "minLength",
                                              "maxLength",
                                              "nullable",
                                              "pattern",
                                              "x-kubernetes-preserve-unknown-fields",
                                              "x-kubernetes-int-or-string"};
  json schema = json::object();
  for (const auto& entry : node) {
    const std::string key = entry.first.Scalar();
    const YAML::Node& value = entry.second;
    if (plain.contains(key)) {
      schema[key] = scalar(value);
    } else if (key == "enum" || key == "required") {
      for (const auto& item : value) schema[key].push_back(item.Scalar());
    } else if (key == "items" || key == "additionalProperties") {
      schema[key] = schema_of(value);
    } else if (key == "properties") {
      schema[key] = json::object();
      for (const auto& property : value) schema[key][property.first.Scalar()] = schema_of(property.second);
    } else if (key != "description" && key != "default" && !key.starts_with("x-kubernetes-")) {
      throw std::runtime_error("a schema says \"" + key + "\", which operator/api/schema.cpp does not know");
    }
  }
  return schema;
}

}  // namespace

int main(int argc, char** argv) try {
  std::ofstream header(argc > 1 ? argv[1] : "");
  header
      << "// Made of the files in crds by embed_schemas.cpp.\n#pragma once\n\nnamespace emj::reading {\n\n";
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const YAML::Node crd = YAML::LoadFile(argument.substr(equals + 1));
    const YAML::Node root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    header << "inline constexpr const char* " << argument.substr(0, equals) << " = R\"~json~("
           << schema_of(root["properties"]["spec"]).dump() << ")~json~\";\n";
  }
  header << "\n}  // namespace emj::reading\n";
  if (!header.flush()) throw std::runtime_error("cannot write the header that is named first");
  return 0;
} catch (const std::exception& error) {
  std::cerr << "embed_schemas: " << error.what() << "\n";
  return 1;
}
