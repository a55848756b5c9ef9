// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/checkpoint_settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "runtime/protocol/names.hpp"

namespace elastic {
namespace {

namespace names = empi::names;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

double number_of(const char* name, double otherwise) {
  const std::string text = variable(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' || !(value > 0) ? otherwise : value;
}

}  // namespace

CheckpointSettings::CheckpointSettings(std::int64_t every, std::string of_program)
    : folder(variable(names::kCheckpointDir)),
      from(variable(names::kCheckpointFrom)),
      program(program_invocation_short_name),
      keep(static_cast<int>(number_of(names::kCheckpointKeep, 2))),
      slots(static_cast<int>(number_of(names::kSlots, 1))) {
  if (folder.empty()) folder = std::move(of_program);
  cadence.every_seconds = number_of(names::kCheckpointSeconds, 0);
  cadence.mtbf_hours = number_of(names::kCheckpointMtbfHours, checkpoint::kMtbfHours);
  if (cadence.every_seconds <= 0) cadence.every_iterations = every;
}

}  // namespace elastic
