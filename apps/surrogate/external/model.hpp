// SPDX-License-Identifier: Apache-2.0
// Forward models that are programs of their own: nothing of them is compiled here (docs/surrogate.md).
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace surrogate {

/// A program that is started for each forward run, in a folder of its own with `parameters.txt`, one number a
/// line; it ends with status 0 and leaves `outputs.txt`, numbers between blanks and ends of lines. What it
/// has left in the background is killed.
struct Command {
  std::vector<std::string> words;
};

/// A function of a list of numbers that gives one, in a file of Python; loaded once.
struct PythonFunction {
  std::string file, function;
};

/// A model served by UM-Bridge (Seelinger et al., UM-Bridge: Uncertainty quantification and modeling bridge,
/// JOSS 8, 2023; protocol version 1.0): at an address, or by a program that each rank starts for itself, with
/// the port to listen at in PORT.
struct UmBridge {
  std::string address = {};             ///< http://HOST:PORT; empty: `words`
  std::vector<std::string> words = {};  ///< the program
  std::string name = "forward";         ///< of the model, of those that are served there
  std::string configuration = "{}";     ///< JSON text of an object, handed to the model
  double start_seconds = 60;            ///< until the program listens
};

struct ModelOptions {
  double timeout_seconds = 3600;  ///< of one forward run
  int attempts = 3;               ///< of one forward run: what fails, ends or hangs is started anew
};

struct External {
  std::variant<Command, PythonFunction, UmBridge> model;
  ModelOptions options;
};

/// Outputs of a forward run with these parameters.
using ForwardModel = std::function<void(std::span<const double> parameters, std::span<double> outputs)>;

/// The forward model. Each rank makes one; programs are started with the first run. Its runs throw
/// io::FileError, one line with the parameters and the reason, when all attempts have failed, and at once
/// when the model says that it has another number of parameters or outputs.
ForwardModel make_model(const External& external);

/// What makes two models the same for a journal: everything above but how patient we are.
std::string identity(const External& external);

/// One forward run, without second attempts. Throws std::runtime_error.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void run(std::span<const double> parameters, std::span<double> outputs) = 0;
  /// Ends what it has started, so that the next run starts anew.
  virtual void restart() = 0;
};

/// An answer that will not be another one the next time.
struct Hopeless : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::unique_ptr<Runner> make_command(const Command& command, double timeout_seconds);
std::unique_ptr<Runner> make_python(const PythonFunction& function, double timeout_seconds);
std::unique_ptr<Runner> make_umbridge(const UmBridge& server, double timeout_seconds);

/// Numbers of a JSON list into `outputs`; throws Hopeless for another count, std::runtime_error for what is
/// no finite number.
void take_outputs(const nlohmann::json& list, std::span<double> outputs);

}  // namespace surrogate
