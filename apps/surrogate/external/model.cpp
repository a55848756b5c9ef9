// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/external/model.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace surrogate {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

std::unique_ptr<Runner> make_runner(const External& external) {
  const double timeout = external.options.timeout_seconds;
  return std::visit(Overloaded{[&](const Command& model) { return make_command(model, timeout); },
                               [&](const PythonFunction& model) { return make_python(model, timeout); },
                               [&](const UmBridge& model) { return make_umbridge(model, timeout); }},
                    external.model);
}

std::string list(std::span<const double> values) {
  return empi::joined(values, [](double value) { return empi::format("%.17g", value); });
}

}  // namespace

void take_outputs(const nlohmann::json& list, std::span<double> outputs) {
  if (!list.is_array()) throw std::runtime_error("its answer has no list of outputs");
  if (list.size() != outputs.size())
    throw Hopeless("it gives " + std::to_string(list.size()) + " outputs, and the problem file says " +
                   std::to_string(outputs.size()));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!list[k].is_number()) throw std::runtime_error("output " + std::to_string(k + 1) + " is no number");
    outputs[k] = list[k].get<double>();
    if (!std::isfinite(outputs[k]))
      throw std::runtime_error("output " + std::to_string(k + 1) + " is not finite");
  }
}

ForwardModel make_model(const External& external) {
  return [runner = std::shared_ptr(make_runner(external)), attempts = external.options.attempts](
             std::span<const double> parameters, std::span<double> outputs) {
    for (int attempt = 1;; ++attempt) try {
        return runner->run(parameters, outputs);
      } catch (const Hopeless& error) {
        throw io::FileError(std::string("forward model: ") + error.what());
      } catch (const std::exception& error) {
        runner->restart();
        const std::string what = "forward model: a run with (" + list(parameters) + ") failed";
        if (attempt >= attempts)
          throw io::FileError(what + " " + std::to_string(attempt) + " times, at last: " + error.what());
        std::fprintf(stderr, "%s and is tried again: %s\n", what.c_str(), error.what());
      }
  };
}

std::string identity(const External& external) {
  const auto words = [](const char* kind, std::vector<std::string> parts) {
    return nlohmann::json{{kind, std::move(parts)}};
  };
  return std::visit(Overloaded{[&](const Command& model) { return words("command", model.words); },
                               [&](const PythonFunction& model) {
                                 return words("python", {model.file, model.function});
                               },
                               [&](const UmBridge& model) {
                                 nlohmann::json all = words("umbridge", model.words);
                                 if (!model.address.empty()) all["url"] = model.address;
                                 all["name"] = model.name;
                                 all["config"] = model.configuration;
                                 return all;
                               }},
                    external.model)
      .dump();
}

}  // namespace surrogate
