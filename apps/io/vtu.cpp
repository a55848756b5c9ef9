// SPDX-License-Identifier: Apache-2.0
#include "apps/io/vtu.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "apps/io/file_error.hpp"

namespace io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the appended arrays are written as they lie in memory");

constexpr unsigned char kVtkTriangle = 5, kVtkWedge = 13;

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

const char* type_name(ArrayType type) {
  switch (type) {
    case ArrayType::Float64:
      return "Float64";
    case ArrayType::Float32:
      return "Float32";
    case ArrayType::Int32:
      return "Int32";
  }
  throw std::invalid_argument("ArrayType has no such value");
}

// The XML head grows with each array, the bytes behind it follow: a 64-bit length, then the values.
class AppendedArrays {
 public:
  void add(const std::string& name, const char* type, int components, const void* data, std::size_t bytes) {
    xml_ += "        <DataArray type=\"" + std::string(type) + "\" Name=\"" + escape(name) + "\"";
    if (components > 1) xml_ += " NumberOfComponents=\"" + std::to_string(components) + "\"";
    xml_ += " format=\"appended\" offset=\"" + std::to_string(bytes_.size()) + "\"/>\n";
    const std::uint64_t length = bytes;
    const auto old = bytes_.size();
    bytes_.resize(old + sizeof length + bytes);
    std::memcpy(bytes_.data() + old, &length, sizeof length);
    if (bytes > 0) std::memcpy(bytes_.data() + old + sizeof length, data, bytes);
  }
  void open(const std::string& tag) { xml_ += "      <" + tag + ">\n"; }
  void close(const std::string& tag) { xml_ += "      </" + tag + ">\n"; }

  const std::string& xml() const { return xml_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string xml_, bytes_;
};

void check(const TriangleMesh& mesh) {
  if (mesh.corners != 3 && mesh.corners != 6)
    throw std::invalid_argument("write_vtu: cells have 3 or 6 corners, not " + std::to_string(mesh.corners));
  const auto corners = static_cast<std::size_t>(mesh.corners);
  if (mesh.points.size() % 3 != 0 || mesh.triangles.size() % corners != 0) {
    throw std::invalid_argument("write_vtu: points come in threes and cells in " +
                                std::to_string(mesh.corners) + ", found " +
                                std::to_string(mesh.points.size()) + " coordinates and " +
                                std::to_string(mesh.triangles.size()) + " indices");
  }
  const std::size_t count = mesh.triangles.size() / corners;
  for (const auto& array : mesh.cell_data) {
    const auto size = std::visit([](auto values) { return values.size(); }, array.values);
    if (size == count) continue;
    throw std::invalid_argument("write_vtu: array '" + array.name + "' has " + std::to_string(size) +
                                " values for " + std::to_string(count) + " triangles");
  }
  const auto points = static_cast<std::int64_t>(mesh.points.size() / 3);
  for (const auto index : mesh.triangles) {
    if (index >= 0 && index < points) continue;
    throw std::invalid_argument("write_vtu: a triangle names point " + std::to_string(index) + " of " +
                                std::to_string(points));
  }
}

void add_cell_array(AppendedArrays& arrays, const CellArray& array) {
  std::visit(
      [&](auto values) {
        using Value = typename decltype(values)::value_type;
        const ArrayType type = std::is_same_v<Value, double>  ? ArrayType::Float64
                               : std::is_same_v<Value, float> ? ArrayType::Float32
                                                              : ArrayType::Int32;
        arrays.add(array.name, type_name(type), 1, values.data(), values.size_bytes());
      },
      array.values);
}

std::string shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

}  // namespace

void write_vtu(const std::string& path, const TriangleMesh& mesh) {
  check(mesh);
  const std::size_t corners = static_cast<std::size_t>(mesh.corners), count = mesh.triangles.size() / corners;
  AppendedArrays arrays;
  arrays.open("CellData");
  for (const auto& array : mesh.cell_data) add_cell_array(arrays, array);
  arrays.close("CellData");
  arrays.open("Points");
  arrays.add("Points", "Float64", 3, mesh.points.data(), mesh.points.size_bytes());
  arrays.close("Points");
  arrays.open("Cells");
  arrays.add("connectivity", "Int64", 1, mesh.triangles.data(), mesh.triangles.size_bytes());
  std::vector<std::int64_t> offsets(count);
  for (std::size_t k = 0; k < count; ++k) offsets[k] = static_cast<std::int64_t>(corners * (k + 1));
  arrays.add("offsets", "Int64", 1, offsets.data(), offsets.size() * sizeof offsets[0]);
  const std::vector<unsigned char> types(count, corners == 3 ? kVtkTriangle : kVtkWedge);
  arrays.add("types", "UInt8", 1, types.data(), types.size());
  arrays.close("Cells");

  std::string file =
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n"
      "  <UnstructuredGrid>\n    <Piece NumberOfPoints=\"" +
      std::to_string(mesh.points.size() / 3) + "\" NumberOfCells=\"" + std::to_string(count) + "\">\n" +
      arrays.xml() + "    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n_";
  file += arrays.bytes();
  file += "\n  </AppendedData>\n</VTKFile>\n";
  write_text(path, file);
}

void write_pvtu(const std::string& path, std::span<const std::string> pieces,
                std::span<const std::pair<std::string, ArrayType>> arrays) {
  std::string file =
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n"
      "  <PUnstructuredGrid GhostLevel=\"0\">\n    <PCellData>\n";
  for (const auto& [name, type] : arrays) {
    file +=
        "      <PDataArray type=\"" + std::string(type_name(type)) + "\" Name=\"" + escape(name) + "\"/>\n";
  }
  file +=
      "    </PCellData>\n    <PPoints>\n"
      "      <PDataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\"/>\n    </PPoints>\n";
  for (const auto& piece : pieces) file += "    <Piece Source=\"" + escape(piece) + "\"/>\n";
  file += "  </PUnstructuredGrid>\n</VTKFile>\n";
  write_text(path, file);
}

void PvdSeries::add(double time, const std::string& file) {
  entries_.emplace_back(time, file);
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n"
      "  <Collection>\n";
  for (const auto& [when, name] : entries_) {
    text += "    <DataSet timestep=\"" + shortest(when) + "\" group=\"\" part=\"0\" file=\"" + escape(name) +
            "\"/>\n";
  }
  write_text(path_, text + "  </Collection>\n</VTKFile>\n");
}

}  // namespace io
