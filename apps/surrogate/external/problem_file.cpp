// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/external/problem_file.hpp"

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/io/file_error.hpp"
#include "apps/io/yaml_reader.hpp"
#include "apps/surrogate/app/parameter_names.hpp"
#include "runtime/base/json_text.hpp"

namespace surrogate {
namespace {

using io::YamlReader;
using nlohmann::json;

constexpr double kHuge = 1e300;

std::vector<double> numbers(const YamlReader& reader, const YAML::Node& node, const std::string& what,
                            std::size_t count) {
  if (!node.IsSequence() || node.size() != count)
    reader.fail(node, std::to_string(count) + " numbers for " + what,
                node.IsSequence() ? std::to_string(node.size()) : "no list", "write them between [ and ]");
  std::vector<double> values;
  for (const auto& entry : node) values.push_back(reader.number(entry, what, -kHuge, kHuge));
  return values;
}

Parameter parameter(const YamlReader& reader, const YAML::Node& node) {
  reader.expect_map(node, "a parameter", {"name", "low", "high"});
  for (const char* key : {"name", "low", "high"})
    if (!node[key]) reader.fail(node, std::string("'") + key + "' of the parameter", "none", "say it");
  Parameter result;
  result.name = reader.text(node["name"], "the parameter's name");
  reader.number(node, "low", -kHuge, kHuge, result.low);
  reader.number(node, "high", -kHuge, kHuge, result.high);
  if (!(result.low < result.high))
    reader.fail(node, "low below high", node["low"].Scalar() + " and " + node["high"].Scalar(),
                "correct the range");
  return result;
}

std::vector<std::string> words(const YamlReader& reader, const YAML::Node& node, const std::string& here) {
  if (!node.IsSequence() || node.size() == 0)
    reader.fail(node, "the words of a command", "no list", "write [PROGRAM, ARGUMENT, ...]");
  std::vector<std::string> result;
  for (const auto& entry : node) {
    std::string word = reader.text(entry, "a word of the command");
    for (std::size_t at = 0; (at = word.find("{here}", at)) != std::string::npos; at += here.size())
      word.replace(at, 6, here);
    result.push_back(std::move(word));
  }
  // Runs have folders of their own: what is beside the file is found from there, too.
  if (const bool relative = result[0].find('/') != std::string::npos && result[0][0] != '/'; relative)
    result[0] = here + "/" + result[0];
  return result;
}

PythonFunction python(const YamlReader& reader, const YAML::Node& node, const std::string& here) {
  const std::string text = reader.text(node, "FILE.py:FUNCTION");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    reader.fail(node, "FILE.py:FUNCTION", "'" + text + "'", "name the function after a colon");
  const std::filesystem::path file = std::filesystem::path(here) / text.substr(0, colon);
  if (!std::filesystem::is_regular_file(file))
    reader.fail(node, "a file of Python", "no file " + file.string(), "it is looked for beside this file");
  return {file.string(), text.substr(colon + 1)};
}

UmBridge umbridge(const YamlReader& reader, const YAML::Node& node, const std::string& here) {
  reader.expect_map(node, "umbridge", {"url", "command", "name", "config", "startSeconds"});
  if (node["url"].IsDefined() == node["command"].IsDefined())
    reader.fail(node, "either url or command", node["url"] ? "both" : "neither",
                "say where the model is served");
  UmBridge result;
  if (node["url"]) result.address = reader.text(node["url"], "the server's address");
  if (node["command"]) result.words = words(reader, node["command"], here);
  if (node["name"]) result.name = reader.text(node["name"], "the model's name");
  if (const YAML::Node config = node["config"]) {
    // Flow style is JSON; whatever else YAML has would need a type for each scalar.
    const std::string text = config.IsScalar() ? config.Scalar() : "";
    if (!empi::json_text::try_parse(text).is_object())
      reader.fail(config, "the model's configuration as JSON between quotes", "something else",
                  "write '{\"level\": 1}'");
    result.configuration = text;
  }
  reader.number(node, "startSeconds", 0.1, 1e6, result.start_seconds);
  return result;
}

External external(const YamlReader& reader, const YAML::Node& node, const std::string& here) {
  reader.expect_map(node, "model", {"command", "python", "umbridge", "timeoutSeconds", "attempts"});
  if (node["command"].IsDefined() + node["python"].IsDefined() + node["umbridge"].IsDefined() != 1)
    reader.fail(node, "one of command, python and umbridge", "none or several", "say how the model is run");
  External result;
  if (node["command"]) result.model = Command{words(reader, node["command"], here)};
  if (node["python"]) result.model = python(reader, node["python"], here);
  if (node["umbridge"]) result.model = umbridge(reader, node["umbridge"], here);
  reader.number(node, "timeoutSeconds", 1e-3, 1e9, result.options.timeout_seconds);
  double attempts = result.options.attempts;
  reader.number(node, "attempts", 1, 1000, attempts);
  if (attempts != std::floor(attempts))
    reader.fail(node["attempts"], "a number of attempts", node["attempts"].Scalar(), "correct it");
  result.options.attempts = static_cast<int>(attempts);
  return result;
}

void measurements(const YamlReader& reader, const YAML::Node& root, Problem& problem) {
  if (root["observed"].IsDefined() == root["truth"].IsDefined())
    reader.fail(root, "either observed or truth", root["truth"] ? "both" : "neither",
                "give measurements, or parameters to make them from");
  if (const YAML::Node truth = root["truth"]) {
    problem.truth = numbers(reader, truth, "the true parameters", problem.parameters.size());
    for (std::size_t k = 0; k < problem.truth.size(); ++k)
      reader.number(truth[k], "the true " + problem.parameters[k].name, problem.parameters[k].low,
                    problem.parameters[k].high);
    reader.number(root, "relativeNoise", 1e-9, 10, problem.relative_noise);
    if (root["noise"])
      reader.fail(root["noise"], "relativeNoise, for made-up measurements", "noise", "correct the name");
    return;
  }
  problem.observed =
      numbers(reader, root["observed"], "measurements", static_cast<std::size_t>(problem.outputs));
  if (!root["noise"])
    reader.fail(root, "noise, the standard deviation of the measurements", "none", "say it");
  reader.number(root, "noise", 1e-300, kHuge, problem.noise);
}

}  // namespace

ExternalProblem read_problem(const std::string& path) {
  const YamlReader reader{io::InputFile(path)};
  const YAML::Node root = reader.root();
  reader.expect_map(root, "the problem",
                    {"parameters", "outputs", "model", "observed", "noise", "truth", "relativeNoise"});
  for (const char* key : {"parameters", "outputs", "model"})
    if (!root[key])
      reader.fail(root, std::string("'") + key + "'", "none", "docs/surrogate.md has an example");
  ExternalProblem result;
  Problem& problem = result.problem;
  if (!root["parameters"].IsSequence() || root["parameters"].size() == 0)
    reader.fail(root["parameters"], "a list of parameters",
                root["parameters"].IsSequence() ? "none" : "something else",
                "write - {name: ..., low: ..., high: ...}");
  for (const auto& entry : root["parameters"]) problem.parameters.push_back(parameter(reader, entry));
  if (const auto bad = find_bad_name(problem.parameters))
    reader.fail(root["parameters"][bad->parameter]["name"], "as a parameter's name " + bad->expected,
                bad->found, "give it another name");
  double outputs = 0;
  reader.number(root, "outputs", 1, 1e6, outputs);
  if (outputs != std::floor(outputs))
    reader.fail(root["outputs"], "a number of outputs", root["outputs"].Scalar(), "correct it");
  problem.outputs = static_cast<int>(outputs);
  const std::string here = std::filesystem::absolute(path).parent_path().string();
  result.external = external(reader, root["model"], here);
  measurements(reader, root, problem);
  return result;
}

}  // namespace surrogate
