// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/triangle_panel.hpp"

#include <string>

namespace io::draw {

void TrianglePanel::owned_triangle(const float (&x)[3], const float (&y)[3], int owner_index, Colour paper,
                                   double strength) {
  const Colour owner = category(static_cast<std::size_t>(std::max(owner_index, 0)));
  const Colour inside = mix(paper, owner, strength), outline = mix(owner, kBlack, 0.35);
  const Point p = place(x[0], y[0]), q = place(x[1], y[1]), r = place(x[2], y[2]);
  const double area = std::abs((q.x - p.x) * (r.y - p.y) - (r.x - p.x) * (q.y - p.y)) / 2;
  const double around =
      std::hypot(q.x - p.x, q.y - p.y) + std::hypot(r.x - q.x, r.y - q.y) + std::hypot(p.x - r.x, p.y - r.y);
  const double inradius = 2 * area / std::max(around, 1e-12);
  const double visible = std::clamp((inradius - 0.3) / 1.5, 0.0, 1.0) * 0.9;
  const Colour edge = mix(mix(inside, owner, 0.6), outline, visible);
  const Colour middle = mix(mix(inside, owner, 0.6), inside, std::clamp(inradius / 1.2, 0.0, 1.0));
  triangle(x, y, [&](double distance) { return distance < 0.4 ? edge : middle; });
}

void TrianglePanel::copy_to(Canvas& canvas) const {
  Pixels pixels(nx_ / samples, ny_ / samples);
  for (int y = 0; y < ny_ / samples; ++y) {
    for (int x = 0; x < nx_ / samples; ++x) {
      Colour sum;
      for (int s = 0; s < samples * samples; ++s) {
        const Colour& c =
            colours_[static_cast<std::size_t>(y * samples + s / samples) * static_cast<std::size_t>(nx_) +
                     static_cast<std::size_t>(x * samples + s % samples)];
        sum = {sum.r + c.r, sum.g + c.g, sum.b + c.b};
      }
      const double n = samples * samples;
      pixels.blend(x, y, {sum.r / n, sum.g / n, sum.b / n});
    }
  }
  canvas.put({box_.left, box_.top}, pixels);
}

void draw_workers(Canvas& canvas, const Box& box, std::span<const std::size_t> cells_of) {
  const double n = static_cast<double>(cells_of.size());
  const double pitch = std::min(26.0, box.width() / std::max(n, 1.0)), side = pitch * 0.84;
  for (std::size_t k = 0; k < cells_of.size(); ++k) {
    const double left = box.left + static_cast<double>(k) * pitch;
    const Box square{left, box.top, left + side, box.top + side};
    const bool used = cells_of[k] > 0;
    canvas.fill(square, used ? category(k) : Colour{0.86, 0.87, 0.88});
    if (side < 14) continue;
    canvas.text({left + side / 2, box.top + side / 2 + 4.3}, std::to_string(k),
                {.size = 12, .colour = used ? kWhite : kGrey, .align = Align::Centre, .bold = used});
  }
}

std::string grouped(std::size_t value) {
  std::string text = std::to_string(value);
  for (std::size_t k = text.size(); k > 3; k -= 3) text.insert(k - 3, ",");
  return text;
}

}  // namespace io::draw
