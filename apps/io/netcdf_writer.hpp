// SPDX-License-Identifier: Apache-2.0
// A netCDF-4 file that gets its name when it is whole, so that no reader finds half of it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace io {

/// All throw FileError.
class NetcdfWriter {
 public:
  enum class Type { Float, Double, Int64 };

  explicit NetcdfWriter(std::string path);
  NetcdfWriter(const NetcdfWriter&) = delete;
  NetcdfWriter& operator=(const NetcdfWriter&) = delete;
  /// Without finish() nothing is left.
  ~NetcdfWriter();
  void finish();

  int root() const { return file_; }
  int group(const std::string& name);
  int dimension(int group, const std::string& name, std::size_t size);
  /// fill: the value of places without one. Returns the variable's id.
  int variable(int group, const std::string& name, Type type, const std::vector<int>& dimensions,
               std::optional<double> fill = std::nullopt);
  /// In the variable's order, the last dimension fastest.
  void put(int group, int variable, std::span<const double> values);
  /// variable: kGlobal for the group's own.
  void attribute(int group, int variable, const std::string& name, const std::string& text);
  void attribute(int group, int variable, const std::string& name, double value);
  static const int kGlobal;

 private:
  void check(int status) const;

  std::string path_, part_;
  int file_ = -1;
};

}  // namespace io
