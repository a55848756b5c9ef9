// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/io/draw/canvas.hpp"
#include "apps/io/file_error.hpp"

namespace io::draw {

void Canvas::write_png(const std::string& path) const {
  std::vector<unsigned char> bytes;
  bytes.reserve(pixels_.size() * 3);
  const auto byte = [](double value) {
    return static_cast<unsigned char>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
  };
  for (const Colour& pixel : pixels_) {
    for (const double value : {pixel.r, pixel.g, pixel.b}) bytes.push_back(byte(value));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  const auto check = [&](int good) {
    if (good == 0)
      throw FileError(path, "", "to encode a PNG", image.message, "report this with the picture's size");
  };
  png_alloc_size_t size = 0;
  check(png_image_write_to_memory(&image, nullptr, &size, 0, bytes.data(), 0, nullptr));
  std::vector<unsigned char> encoded(size);
  check(png_image_write_to_memory(&image, encoded.data(), &size, 0, bytes.data(), 0, nullptr));
  write_bytes(path, encoded.data(), size);
}

}  // namespace io::draw
