// SPDX-License-Identifier: Apache-2.0
// Records of gauges, observed and computed, and how far the two are from each other.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace io {

/// A gauge's record: times in seconds after the earthquake, ascending (a sensor may send several values for
/// one time); values in metres.
struct TimeSeries {
  std::vector<double> t, v;

  /// Linear interpolation; a time outside takes the nearest end's value. Needs at least one point.
  double at(double time) const;
};

/// Sorts by time; samples of the same time keep their order.
TimeSeries make_series(std::vector<double> t, std::vector<double> v);

/// How many samples have the time of the one before (a millisecond apart or less).
int repeats(const TimeSeries& series);

/// One sample for each time: the mean of those that repeat it.
TimeSeries averaged(const TimeSeries& series);

/// m: what is higher is none, but stands for no value (9999), or is the depth of the water.
inline constexpr double kHighestWave = 1000;

/// Two columns, seconds and metres (detided DART records), or a GeoClaw gauge file (its `# level, time,
/// q[...], eta` header): time and eta. Lines that start with # are remarks. Throws FileError.
TimeSeries read_gauge(const std::string& path);

/// NOAA DART text: `YY MM DD hh mm ss T HEIGHT`, the height of the water column in metres; missing values
/// (9999) are left out. Times become seconds after `origin` (UTC). Throws FileError.
TimeSeries read_dart(const std::string& path, std::chrono::sys_seconds origin);

/// The window in which a computed record is judged. The default is that of the 2010 Chile tsunami at DART
/// 32412: from 7200 s on (before, the seismic surface wave moves the sensor).
struct GaugeWindow {
  double begin = 7200, end = 32135;
};

struct GaugeComparison {
  int samples = 0;          ///< observed samples in the window: 432 for Chile 2010 at 32412
  double rms = 0;           ///< root mean square of computed - observed, m
  double rms_observed = 0;  ///< the same for a computed wave of zero: what a run must beat
  double correlation = 0;   ///< Pearson; 0 when one of the two is constant
  double max_computed = 0, time_max_computed = 0;  ///< m, s; over the record's own samples in the window
  double max_observed = 0, time_max_observed = 0;
};

/// Compares at every sample of the observed record inside the window, a repeated time counting once per
/// sample; the computed record is interpolated linearly. (Where the sensor sends more often, the record
/// weighs more: 16 of the 432 samples at 32412 repeat four minutes around the crest.) Throws
/// std::invalid_argument if a record does not cover the window (half a per cent of it is forgiven).
GaugeComparison compare_gauge(const TimeSeries& observed, const TimeSeries& computed,
                              const GaugeWindow& window = {});

/// The time by which the computed record is too early, within `limit` seconds (steps of 5 s), that makes the
/// rms smallest, and that rms. The computed record keeps its end values beyond its ends. Window as in
/// compare_gauge().
struct GaugeShift {
  double seconds = 0, rms = 0;
};
GaugeShift best_shift(const TimeSeries& observed, const TimeSeries& computed, const GaugeWindow& window,
                      double limit = 600);

}  // namespace io
