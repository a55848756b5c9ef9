// SPDX-License-Identifier: Apache-2.0
#include "apps/io/vtu.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <regex>

#include "apps/io/test_files.hpp"

namespace io::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string read_all(const std::string& path) {
  const auto bytes = read_bytes(path);
  return {bytes.begin(), bytes.end()};
}

// A reader of its own for what the writer claims: finds an array by name and reads it at its offset.
class VtuReader {
 public:
  explicit VtuReader(const std::string& path) : text_(read_all(path)) {
    const std::string mark = "<AppendedData encoding=\"raw\">\n_";
    const auto at = text_.find(mark);
    if (at == std::string::npos) throw std::runtime_error("no appended data");
    head_ = text_.substr(0, at);
    data_ = at + mark.size();
  }
  std::string attribute(const std::string& name) const {
    std::smatch match;
    return std::regex_search(head_, match, std::regex(name + "=\"([^\"]*)\"")) ? match[1].str() : "";
  }
  template <class T>
  std::vector<T> array(const std::string& type, const std::string& name) const {
    std::smatch match;
    const std::regex wanted("<DataArray type=\"" + type + "\" Name=\"" + name +
                            "\"[^>]*offset=\"([0-9]+)\"/>");
    if (!std::regex_search(head_, match, wanted))
      throw std::runtime_error("no array " + name + " of type " + type);
    const std::size_t offset = data_ + std::stoul(match[1]);
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text_.data() + offset, sizeof bytes);
    if (offset + sizeof bytes + bytes > text_.size() || bytes % sizeof(T) != 0)
      throw std::runtime_error("bad length");
    std::vector<T> values(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(values.data(), text_.data() + offset + sizeof bytes, bytes);
    end_ = std::max(end_, offset + sizeof bytes + bytes);
    return values;
  }
  // What follows the last array that was read.
  std::string tail() const { return text_.substr(end_); }

 private:
  std::string text_, head_;
  std::size_t data_ = 0;
  mutable std::size_t end_ = 0;
};

TEST(Vtu, ReadsBackAsWritten) {
  const ScratchFolder folder;
  const std::vector<double> points = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
  const std::vector<std::int64_t> triangles = {0, 1, 2, 0, 2, 3};
  const std::vector<double> eta = {0.25, -1e-300};
  const std::vector<float> b = {-4000.5f, 12};
  const std::vector<std::int32_t> owner = {7, -1};
  write_vtu(folder.path("a.vtu"), {points, triangles, {{"eta", eta}, {"b", b}, {"owner", owner}}});
  const VtuReader vtu(folder.path("a.vtu"));
  EXPECT_EQ(vtu.attribute("NumberOfPoints"), "4");
  EXPECT_EQ(vtu.attribute("NumberOfCells"), "2");
  EXPECT_EQ(vtu.attribute("header_type"), "UInt64");
  EXPECT_EQ(vtu.attribute("byte_order"), "LittleEndian");
  EXPECT_EQ(vtu.attribute("NumberOfComponents"), "3");
  EXPECT_EQ(vtu.array<double>("Float64", "eta"), eta);
  EXPECT_EQ(vtu.array<float>("Float32", "b"), b);
  EXPECT_EQ(vtu.array<std::int32_t>("Int32", "owner"), owner);
  EXPECT_EQ(vtu.array<double>("Float64", "Points"), points);
  EXPECT_EQ(vtu.array<std::int64_t>("Int64", "connectivity"), triangles);
  EXPECT_THAT(vtu.array<std::int64_t>("Int64", "offsets"), ElementsAre(3, 6));
  EXPECT_THAT(vtu.array<unsigned char>("UInt8", "types"), ElementsAre(5, 5));
  EXPECT_EQ(vtu.tail(), "\n  </AppendedData>\n</VTKFile>\n");
}

TEST(Vtu, AnEmptyPieceIsValid) {
  const ScratchFolder folder;
  write_vtu(folder.path("e.vtu"), {{}, {}, {{"eta", std::span<const double>()}}});
  const VtuReader vtu(folder.path("e.vtu"));
  EXPECT_EQ(vtu.attribute("NumberOfCells"), "0");
  EXPECT_TRUE(vtu.array<double>("Float64", "eta").empty());
  EXPECT_TRUE(vtu.array<unsigned char>("UInt8", "types").empty());
}

TEST(Vtu, SizesThatDisagreeAreRefused) {
  const ScratchFolder folder;
  const std::vector<double> points(9), eta(2);
  const std::vector<std::int64_t> triangle = {0, 1, 2}, outside = {0, 1, 3};
  EXPECT_THROW(write_vtu(folder.path("a.vtu"), {points, triangle, {{"eta", eta}}}), std::invalid_argument);
  EXPECT_THROW(write_vtu(folder.path("a.vtu"), {points, outside, {}}), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.vtu")));
}

TEST(Vtu, AFolderThatDoesNotExistIsNamed) {
  const ScratchFolder folder;
  EXPECT_THAT(file_error_of([&] { write_vtu(folder.path("none/a.vtu"), {}); }),
              ::testing::AllOf(HasSubstr("a.vtu"), HasSubstr("No such file")));
}

TEST(Pvtu, NamesItsPiecesAndArrays) {
  const ScratchFolder folder;
  const std::vector<std::string> pieces = {"wave_0_0.vtu", "wave_0_<1>.vtu"};
  const std::vector<std::pair<std::string, ArrayType>> arrays = {{"eta", ArrayType::Float64},
                                                                 {"owner", ArrayType::Int32}};
  write_pvtu(folder.path("wave.pvtu"), pieces, arrays);
  const auto text = read_all(folder.path("wave.pvtu"));
  EXPECT_THAT(text, HasSubstr("<Piece Source=\"wave_0_0.vtu\"/>"));
  EXPECT_THAT(text, HasSubstr("<Piece Source=\"wave_0_&lt;1&gt;.vtu\"/>"));
  EXPECT_THAT(text, HasSubstr("<PDataArray type=\"Float64\" Name=\"eta\"/>"));
  EXPECT_THAT(text, HasSubstr("<PDataArray type=\"Int32\" Name=\"owner\"/>"));
  EXPECT_THAT(text, HasSubstr("type=\"PUnstructuredGrid\""));
}

TEST(Pvd, GrowsWithEveryFile) {
  const ScratchFolder folder;
  PvdSeries series(folder.path("wave.pvd"));
  series.add(0, "wave_0.pvtu");
  EXPECT_THAT(read_all(folder.path("wave.pvd")), ::testing::Not(HasSubstr("wave_1.pvtu")));
  series.add(600.5, "wave_1.pvtu");
  EXPECT_THAT(read_all(folder.path("wave.pvd")),
              ::testing::AllOf(HasSubstr("timestep=\"0\" group=\"\" part=\"0\" file=\"wave_0.pvtu\""),
                               HasSubstr("timestep=\"600.5\" group=\"\" part=\"0\" file=\"wave_1.pvtu\"")));
}

}  // namespace
}  // namespace io::test
