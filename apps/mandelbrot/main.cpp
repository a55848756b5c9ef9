// SPDX-License-Identifier: Apache-2.0
// empi-mandelbrot: rows of a picture as tasks, done by workers that come and go. The example for
// elastic::MasterWorker in docs/malleable.md.
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <elastic_master_worker.hpp>
#include <exception>
#include <string>
#include <vector>

#include "apps/io/draw/canvas.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/mandelbrot/mandelbrot.hpp"
#include "runtime/base/options.hpp"

namespace {

struct Options {
  mandelbrot::View view;
  std::string out;
};

Options parse(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  o.out = io::default_folder() + "/mandelbrot.png";
  double x = o.view.centre.real(), y = o.view.centre.imag();
  const options::Program program{
      .what = "Draws the Mandelbrot set, row by row, on a changing set of ranks.",
      .options = {
          {"--width", &o.view.width, "pixels", {.check = options::in_range(1, 20000), .shows_default = true}},
          {"--height",
           &o.view.height,
           "pixels",
           {.check = options::in_range(1, 20000), .shows_default = true}},
          {"--iterations",
           &o.view.iterations,
           "most iterations per pixel",
           {.check = options::in_range(std::int64_t{1}, std::int64_t{1} << 40), .shows_default = true}},
          {"--x", &x, "centre of the picture, real part", {.shows_default = true}},
          {"--y", &y, "centre of the picture, imaginary part", {.shows_default = true}},
          {"--span",
           &o.view.span,
           "width of the picture in the complex plane",
           {.check = options::positive(), .shows_default = true}},
          {"--out", &o.out, "PNG to write; empty: none", {.shows_default = true}},
      }};
  options::read_or_exit(program, argc, argv);
  o.view.centre = {x, y};
  return o;
}

io::draw::Colour colour_of(float value) {
  if (value < 0) return {0, 0, 0};
  const double t = 0.35 * std::log1p(static_cast<double>(value));
  const auto wave = [t](double phase) { return 0.5 + 0.5 * std::cos(6.283185307179586 * (t + phase)); };
  return {wave(0.55), wave(0.65), wave(0.8)};
}

void write_picture(const Options& o, const std::vector<float>& values) {
  io::draw::Pixels pixels(static_cast<int>(o.view.width), static_cast<int>(o.view.height));
  for (int y = 0; y < pixels.height(); ++y)
    for (int x = 0; x < pixels.width(); ++x)
      pixels.blend(x, y, colour_of(values[static_cast<std::size_t>(y * o.view.width + x)]));
  io::draw::Canvas canvas(pixels.width(), pixels.height());
  canvas.put({0, 0}, pixels);
  canvas.write_png(o.out);
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);

  // All that makes it malleable.
  elastic::MasterWorker job(argc, argv);
  const std::vector<float> values = job.map_rows<float>(
      o.view.height, o.view.width,
      [&](std::int64_t row, std::span<float> pixels) { mandelbrot::compute_row(o.view, row, pixels); });

  if (!job.master()) return 0;
  std::printf("mandelbrot %" PRId64 " x %" PRId64 " workers %d fingerprint %016" PRIx64 "\n", o.view.width,
              o.view.height, job.workers(), mandelbrot::fingerprint(values));
  try {
    if (!o.out.empty()) write_picture(o, values);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "empi-mandelbrot: %s\n", e.what());
    return 1;
  }
  return 0;
}
