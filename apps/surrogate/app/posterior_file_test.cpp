// SPDX-License-Identifier: Apache-2.0
// Promise: the samples as InferenceData, each number as it is. (That ArviZ opens it: testing/arviz_test.py.)
#include "apps/surrogate/app/posterior_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netcdf.h>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"

namespace surrogate {
namespace {

Inversion solved() {
  Problem problem;
  problem.parameters = {{"a/b", 2, 4}, {"c", -1, 1}};
  problem.outputs = 2;
  problem.model = [](std::span<const double> p, std::span<double> y) {
    y[0] = p[0] + p[1], y[1] = p[0] * p[1];
  };
  problem.truth = {3, 0.5};
  Inversion inversion(std::move(problem), test::short_run());
  test::run_through(inversion);
  return inversion;
}

std::vector<double> read(int file, const char* group, const char* name,
                         const std::vector<std::string>& dimensions) {
  int id = 0, variable = 0, count = 0, ids[4] = {};
  EXPECT_EQ(nc_inq_grp_ncid(file, group, &id), NC_NOERR) << group;
  EXPECT_EQ(nc_inq_varid(id, name, &variable), NC_NOERR) << name;
  EXPECT_EQ(nc_inq_varndims(id, variable, &count), NC_NOERR);
  EXPECT_EQ(nc_inq_vardimid(id, variable, ids), NC_NOERR);
  std::size_t size = 1;
  std::vector<std::string> found;
  for (int k = 0; k < count; ++k) {
    char text[NC_MAX_NAME + 1];
    std::size_t length = 0;
    EXPECT_EQ(nc_inq_dim(id, ids[k], text, &length), NC_NOERR);
    found.emplace_back(text);
    size *= length;
  }
  EXPECT_EQ(found, dimensions);
  std::vector<double> values(size);
  EXPECT_EQ(nc_get_var_double(id, variable, values.data()), NC_NOERR);
  return values;
}

TEST(PosteriorFile, HasEachSampleAsItIs) {
  const Inversion inversion = solved();
  const io::test::ScratchFolder folder;
  write_posterior(folder.path("posterior.nc"), inversion);
  int file = 0;
  ASSERT_EQ(nc_open(folder.path("posterior.nc").c_str(), NC_NOWRITE, &file), NC_NOERR);
  std::vector<double> a, c, lp;
  for (const auto& rows : inversion.samples())
    for (std::size_t at = 0; at < rows.size(); at += 3)
      a.push_back(2 + 2 * rows[at]), c.push_back(-1 + 2 * rows[at + 1]), lp.push_back(rows[at + 2]);
  ASSERT_EQ(a.size(), 60U);
  EXPECT_EQ(read(file, "posterior", "a_b", {"chain", "draw"}), a);
  EXPECT_EQ(read(file, "posterior", "c", {"chain", "draw"}), c);
  EXPECT_EQ(read(file, "sample_stats", "lp", {"chain", "draw"}), lp);
  EXPECT_EQ(read(file, "observed_data", "y", {"output"}), inversion.state().observed);
  EXPECT_THAT(read(file, "posterior", "chain", {"chain"}), testing::ElementsAre(0, 1, 2));
  nc_close(file);
}

TEST(PosteriorFile, ThatCannotBeWrittenIsSaid) {
  const io::test::ScratchFolder folder;
  EXPECT_THAT(io::test::file_error_of([&] { write_posterior(folder.path("none/posterior.nc"), solved()); }),
              testing::HasSubstr("none/posterior.nc"));
}

}  // namespace
}  // namespace surrogate
