// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "apps/surrogate/external/child.hpp"
#include "apps/surrogate/external/model.hpp"
#include "runtime/base/json_text.hpp"

namespace surrogate {
namespace {

// A line with the parameters, a line with what the function gives; what the model prints goes to our
// messages.
constexpr const char* kServe = R"(
import importlib.util, json, math, os, sys
path, name = sys.argv[1:]
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location("model", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
function = getattr(module, name)
for line in sys.stdin:
    try:
        values = [float(value) for value in function(json.loads(line))]
        bad = [at for at, value in enumerate(values) if not math.isfinite(value)]
        answer = {"error": f"output {bad[0] + 1} is not finite"} if bad else {"outputs": values}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
)";

class PythonRunner : public Runner {
 public:
  PythonRunner(PythonFunction function, double timeout) : function_(std::move(function)), timeout_(timeout) {}

  void run(std::span<const double> parameters, std::span<double> outputs) override {
    if (!child_)
      child_.emplace(Child::Start{{"python3", "-c", kServe, function_.file, function_.function}, "", {}});
    const Deadline until = deadline_in(timeout_);
    const nlohmann::json question(std::vector<double>(parameters.begin(), parameters.end()));
    std::optional<std::string> line;
    if (child_->write_line(empi::json_text::text(question))) line = child_->read_line(until);
    if (!line) {
      const bool late = std::chrono::steady_clock::now() >= until;
      throw std::runtime_error(
          where() + (late ? " has not answered in time" : " has ended, see above: " + child_->wait(until)));
    }
    const nlohmann::json answer = empi::json_text::try_parse(*line);
    if (!answer.is_object()) throw std::runtime_error(where() + " has answered what is no JSON object");
    if (const auto error = answer.find("error"); error != answer.end())
      throw std::runtime_error(where() + ": " + error->get<std::string>());
    take_outputs(answer.value("outputs", nlohmann::json()), outputs);
  }
  void restart() override { child_.reset(); }

 private:
  std::string where() const { return function_.file + ":" + function_.function; }

  PythonFunction function_;
  double timeout_;
  std::optional<Child> child_;
};

}  // namespace

std::unique_ptr<Runner> make_python(const PythonFunction& function, double timeout_seconds) {
  return std::make_unique<PythonRunner>(function, timeout_seconds);
}

}  // namespace surrogate
