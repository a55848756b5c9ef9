// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/okada.hpp"

#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>

#include "apps/tsunami/io/degrees.hpp"

namespace io {
namespace {

constexpr double kMuRatio = 0.5;  // mu / (lambda + mu) for Poisson's ratio 0.25: 1 - 2 nu

// The functions of Okada 1985, equations 25 (strike slip), 26 (dip slip), 28 and 29, at one corner
// (xi, eta) of the rectangle, without the factor -U / 2 pi. The limits for q = 0, xi = 0, R + eta = 0 and
// cos(dip) = 0 are those of his page 1148.
class Corner {
 public:
  Corner(double xi, double eta, double q, double sin_dip, double cos_dip)
      : xi_(xi), eta_(eta), q_(q), sin_(sin_dip), cos_(cos_dip) {
    r_ = std::sqrt(xi * xi + eta * eta + q * q);
    y_tilde_ = eta * cos_ + q * sin_;
    d_tilde_ = eta * sin_ - q * cos_;
    const double tiny = 1e-12 * (r_ + 1e-300);
    const bool eta_limit = r_ + eta <= tiny;
    over_r_eta_ = eta_limit ? 0 : 1 / (r_ * (r_ + eta));
    log_r_eta_ = eta_limit ? -std::log(r_ - eta) : std::log(r_ + eta);
    over_r_xi_ = r_ + xi <= tiny ? 0 : 1 / (r_ * (r_ + xi));
    angle_ = std::abs(q) <= tiny ? 0 : std::atan(xi * eta / (q * r_));
    integrals();
  }

  OkadaResult strike_slip() const {
    const double r_plus_eta = r_ * over_r_eta_;  // 1 / (R + eta) with its limit
    return {xi_ * q_ * over_r_eta_ + angle_ + i1_ * sin_,
            y_tilde_ * q_ * over_r_eta_ + q_ * cos_ * r_plus_eta + i2_ * sin_,
            d_tilde_ * q_ * over_r_eta_ + q_ * sin_ * r_plus_eta + i4_ * sin_};
  }

  OkadaResult dip_slip() const {
    return {q_ / r_ - i3_ * sin_ * cos_, y_tilde_ * q_ * over_r_xi_ + cos_ * angle_ - i1_ * sin_ * cos_,
            d_tilde_ * q_ * over_r_xi_ + sin_ * angle_ - i5_ * sin_ * cos_};
  }

 private:
  void integrals() {
    const double r_d = r_ + d_tilde_;
    // Nearer to vertical, rounding (growing as 1 / cos^2) exceeds the error of the vertical limit.
    if (std::abs(cos_) > 1e-5) {
      const double x = std::sqrt(xi_ * xi_ + q_ * q_);
      i5_ = std::abs(xi_) <= 1e-12 * r_
                ? 0
                : kMuRatio * 2 / cos_ *
                      std::atan((eta_ * (x + q_ * cos_) + x * (r_ + x) * sin_) / (xi_ * (r_ + x) * cos_));
      i4_ = kMuRatio / cos_ * (std::log(r_d) - sin_ * log_r_eta_);
      i3_ = kMuRatio * (y_tilde_ / (cos_ * r_d) - log_r_eta_) + sin_ / cos_ * i4_;
      i1_ = kMuRatio * (-xi_ / (cos_ * r_d)) - sin_ / cos_ * i5_;
    } else {
      i5_ = -kMuRatio * xi_ * sin_ / r_d;
      i4_ = -kMuRatio * q_ / r_d;
      i3_ = kMuRatio / 2 * (eta_ / r_d + y_tilde_ * q_ / (r_d * r_d) - log_r_eta_);
      i1_ = -kMuRatio / 2 * xi_ * q_ / (r_d * r_d);
    }
    i2_ = kMuRatio * -log_r_eta_ - i3_;
  }

  double xi_, eta_, q_, sin_, cos_;
  double r_ = 0, y_tilde_ = 0, d_tilde_ = 0;
  double over_r_eta_ = 0, over_r_xi_ = 0, log_r_eta_ = 0, angle_ = 0;
  double i1_ = 0, i2_ = 0, i3_ = 0, i4_ = 0, i5_ = 0;
};

// The lower edge's middle (degrees) and depth (metres): where Okada's frame starts.
struct LowerEdge {
  double lon, lat, depth;
};

LowerEdge lower_edge(const Fault& fault) {
  const double strike = fault.strike * kDegree, dip = fault.dip * kDegree;
  const double metres_per_lon = kMetresPerDegree * std::cos(fault.lat * kDegree);
  const double horizontal = fault.width * std::cos(dip), rise = fault.width * std::sin(dip);
  // From the lower to the upper edge, degrees.
  const double up_lon = -horizontal * std::cos(strike) / metres_per_lon;
  const double up_lat = horizontal * std::sin(strike) / kMetresPerDegree;
  switch (fault.reference) {
    case FaultReference::TopCenter:
      return {fault.lon - up_lon, fault.lat - up_lat, fault.depth + rise};
    case FaultReference::Centroid:
      return {fault.lon - up_lon / 2, fault.lat - up_lat / 2, fault.depth + rise / 2};
    case FaultReference::BottomCenter:
      return {fault.lon, fault.lat, fault.depth};
    case FaultReference::NoaaSift:
      return {fault.lon, fault.lat, fault.depth + rise};
    case FaultReference::TopUpstrikeCorner: {
      const double half_lon = fault.length / 2 * std::sin(strike) / metres_per_lon;
      const double half_lat = fault.length / 2 * std::cos(strike) / kMetresPerDegree;
      return {fault.lon - half_lon - up_lon, fault.lat - half_lat - up_lat, fault.depth + rise};
    }
  }
  throw std::invalid_argument("Fault::reference has no such value");
}

}  // namespace

FaultReference fault_reference(const std::string& name) {
  static const std::map<std::string, FaultReference> names = {
      {"top center", FaultReference::TopCenter},
      {"centroid", FaultReference::Centroid},
      {"bottom center", FaultReference::BottomCenter},
      {"noaa sift", FaultReference::NoaaSift},
      {"top upstrike corner", FaultReference::TopUpstrikeCorner}};
  if (const auto at = names.find(name); at != names.end()) return at->second;
  std::string list;
  for (const auto& [known, value] : names) list += (list.empty() ? "'" : ", '") + known + "'";
  throw std::invalid_argument("fault reference '" + name + "' is unknown: use one of " + list);
}

OkadaResult okada_rectangle(const OkadaFrame& f) {
  const double sin_dip = std::sin(f.dip_degrees * kDegree), cos_dip = std::cos(f.dip_degrees * kDegree);
  const double p = f.y * cos_dip + f.depth * sin_dip, q = f.y * sin_dip - f.depth * cos_dip;
  OkadaResult sum;
  // Chinnery's notation, equation 24.
  const auto add = [&](double xi, double eta, double sign) {
    const Corner corner(xi, eta, q, sin_dip, cos_dip);
    const double strike = -sign * f.strike_slip / (2 * std::numbers::pi);
    const double dip = -sign * f.dip_slip / (2 * std::numbers::pi);
    const auto s = corner.strike_slip(), d = corner.dip_slip();
    sum.ux += strike * s.ux + dip * d.ux;
    sum.uy += strike * s.uy + dip * d.uy;
    sum.uz += strike * s.uz + dip * d.uz;
  };
  add(f.x, p, 1);
  add(f.x, p - f.width, -1);
  add(f.x - f.length, p, -1);
  add(f.x - f.length, p - f.width, 1);
  return sum;
}

Displacement okada(const Fault& fault, double lon, double lat) {
  if (!(fault.length > 0 && fault.width > 0)) {
    throw std::invalid_argument("okada: fault length " + std::to_string(fault.length) + " m and width " +
                                std::to_string(fault.width) + " m must be above 0");
  }
  const auto edge = lower_edge(fault);
  const double top = edge.depth - fault.width * std::sin(fault.dip * kDegree);
  if (top < -1e-6 * fault.width) {
    throw std::invalid_argument("okada: the fault's upper edge is " + std::to_string(-top) +
                                " m above the ground: increase depth or reduce width or dip");
  }
  const double east = kMetresPerDegree * std::cos(lat * kDegree) * (lon - edge.lon);
  const double north = kMetresPerDegree * (lat - edge.lat);
  const double sin_strike = std::sin(fault.strike * kDegree), cos_strike = std::cos(fault.strike * kDegree);
  const double along = east * sin_strike + north * cos_strike;
  const double up_dip = -(east * cos_strike - north * sin_strike);
  const auto u = okada_rectangle({along + fault.length / 2, up_dip, edge.depth, fault.dip, fault.length,
                                  fault.width, fault.slip * std::cos(fault.rake * kDegree),
                                  fault.slip * std::sin(fault.rake * kDegree)});
  return {u.ux * sin_strike - u.uy * cos_strike, u.ux * cos_strike + u.uy * sin_strike, u.uz};
}

Displacement okada(std::span<const Fault> faults, double lon, double lat) {
  Displacement sum;
  for (const Fault& fault : faults) sum += okada(fault, lon, lat);
  return sum;
}

double seismic_moment(std::span<const Fault> faults, double mu) {
  double sum = 0;
  for (const Fault& fault : faults) sum += mu * fault.length * fault.width * fault.slip;
  return sum;
}

double moment_magnitude(std::span<const Fault> faults, double mu) {
  return 2.0 / 3.0 * (std::log10(seismic_moment(faults, mu)) - 9.05);
}

}  // namespace io
