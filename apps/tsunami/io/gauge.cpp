// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/gauge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

double column(const TextScanner& scanner, const std::vector<std::string_view>& words, std::size_t k,
              const char* what) {
  double value = 0;
  if (k >= words.size()) {
    scanner.fail(what, std::to_string(words.size()) + " columns", "complete the line or remove it");
  }
  if (!TextScanner::parse(words[k], value)) {
    scanner.fail(std::string(what) + " as a finite number", in_quotes(words[k]),
                 "correct the line or remove it");
  }
  return value;
}

TimeSeries finish(const TextScanner& scanner, std::vector<double> t, std::vector<double> v) {
  if (t.empty()) scanner.fail("at least one sample", "none", "check that this is a gauge file");
  return make_series(std::move(t), std::move(v));
}

struct Peak {
  double value, time;
};

Peak peak_inside(const TimeSeries& series, const GaugeWindow& window) {
  Peak peak{series.at(window.begin), window.begin};
  for (std::size_t k = 0; k < series.t.size(); ++k) {
    if (series.t[k] < window.begin || series.t[k] > window.end || series.v[k] <= peak.value) continue;
    peak = {series.v[k], series.t[k]};
  }
  return peak;
}

void need_cover(const TimeSeries& series, const GaugeWindow& window, const char* which) {
  const double forgiven = 0.005 * (window.end - window.begin);
  if (!series.t.empty() && series.t.front() <= window.begin + forgiven &&
      series.t.back() >= window.end - forgiven) {
    return;
  }
  const auto covered = series.t.empty()
                           ? std::string("nothing")
                           : std::to_string(series.t.front()) + " to " + std::to_string(series.t.back());
  throw std::invalid_argument(std::string("compare_gauge: the ") + which + " record covers " + covered +
                              " s, the window is " + std::to_string(window.begin) + " to " +
                              std::to_string(window.end) + " s: simulate longer or choose a shorter window");
}

}  // namespace

double TimeSeries::at(double time) const {
  const auto after = std::upper_bound(t.begin(), t.end(), time);
  if (after == t.begin()) return v.front();
  if (after == t.end()) return v.back();
  const auto k = static_cast<std::size_t>(after - t.begin());
  const double fraction = (time - t[k - 1]) / (t[k] - t[k - 1]);
  return (1 - fraction) * v[k - 1] + fraction * v[k];
}

TimeSeries make_series(std::vector<double> t, std::vector<double> v) {
  std::vector<std::size_t> order(t.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return t[a] < t[b]; });
  TimeSeries series;
  for (const std::size_t k : order) {
    series.t.push_back(t[k]);
    series.v.push_back(v[k]);
  }
  return series;
}

int repeats(const TimeSeries& series) {
  int count = 0;
  for (std::size_t k = 1; k < series.t.size(); ++k) count += series.t[k] - series.t[k - 1] < 1e-3;
  return count;
}

TimeSeries averaged(const TimeSeries& series) {
  TimeSeries result;
  for (std::size_t k = 0; k < series.t.size();) {
    std::size_t end = k;
    double sum = 0;
    while (end < series.t.size() && series.t[end] - series.t[k] < 1e-3) sum += series.v[end++];
    result.t.push_back(series.t[k]);
    result.v.push_back(sum / static_cast<double>(end - k));
    k = end;
  }
  return result;
}

TimeSeries read_gauge(const std::string& path) {
  const auto bytes = read_bytes(path);
  TextScanner scanner(path, {bytes.data(), bytes.size()});
  std::vector<double> t, v;
  bool geoclaw = false;
  while (const auto line = scanner.next_line()) {
    const auto words = TextScanner::words(*line);
    if (words.empty()) continue;
    if (words[0].front() == '#') {
      // "# level, time, q[  1  2  3], eta, aux[]"; a restarted run repeats the header. Other remarks may
      // speak of the sea level.
      geoclaw =
          geoclaw || std::ranges::all_of(std::array{"level", "time", "eta"}, [&](std::string_view name) {
            return std::ranges::find(words, name) != words.end();
          });
      continue;
    }
    if (geoclaw && words.size() < 6)
      scanner.fail("level, time, h, hu, hv, eta", in_quotes(*line), "complete the line");
    if (!geoclaw && words.size() != 2)
      scanner.fail("two columns, seconds and metres", in_quotes(*line), "correct the line");
    t.push_back(column(scanner, words, geoclaw ? 1 : 0, "a time in seconds"));
    v.push_back(column(scanner, words, geoclaw ? 5 : 1, "a height in metres"));
    if (std::abs(v.back()) > kHighestWave)
      scanner.fail(empi::format("a height of the tsunami from %g to %g m", -kHighestWave, kHighestWave),
                   in_quotes(words[geoclaw ? 5 : 1]),
                   "leave missing values out, and take depth and tide from the record");
  }
  return finish(scanner, std::move(t), std::move(v));
}

TimeSeries read_dart(const std::string& path, std::chrono::sys_seconds origin) {
  using namespace std::chrono;
  const auto bytes = read_bytes(path);
  TextScanner scanner(path, {bytes.data(), bytes.size()});
  std::vector<double> t, v;
  while (const auto line = scanner.next_line()) {
    const auto words = TextScanner::words(*line);
    if (words.empty() || words[0].front() == '#') continue;
    double field[8];
    for (std::size_t k = 0; k < 8; ++k) {
      field[k] = column(scanner, words, k, "the columns YY MM DD hh mm ss T HEIGHT");
    }
    const auto whole = [](double value, double most) {
      return value >= 0 && value <= most && value == std::floor(value);
    };
    // The calendar's types keep the low bits of what is larger: a 257th month would be January.
    const bool dated = whole(field[0], 9999) && whole(field[1], 12) && whole(field[2], 31);
    const year_month_day date =
        dated ? year_month_day{year(static_cast<int>(field[0])), month(static_cast<unsigned>(field[1])),
                               day(static_cast<unsigned>(field[2]))}
              : year_month_day{};
    if (!dated || !date.ok())
      scanner.fail("a date YY MM DD", in_quotes(*line), "correct the line or remove it");
    if (field[7] >= 9999) continue;
    const double since_midnight = field[3] * 3600 + field[4] * 60 + field[5];
    const auto midnight = duration_cast<seconds>(sys_days(date) - origin);
    t.push_back(static_cast<double>(midnight.count()) + since_midnight);
    v.push_back(field[7]);
  }
  return finish(scanner, std::move(t), std::move(v));
}

GaugeComparison compare_gauge(const TimeSeries& observed, const TimeSeries& computed,
                              const GaugeWindow& window) {
  if (!(window.end > window.begin))
    throw std::invalid_argument("compare_gauge: the window needs end > begin");
  need_cover(observed, window, "observed");
  need_cover(computed, window, "computed");
  int n = 0;
  double sum_o = 0, sum_c = 0, sum_oo = 0, sum_cc = 0, sum_oc = 0, sum_dd = 0;
  for (std::size_t k = 0; k < observed.t.size(); ++k) {
    if (observed.t[k] < window.begin || observed.t[k] > window.end) continue;
    const double o = observed.v[k], c = computed.at(observed.t[k]);
    ++n;
    sum_o += o;
    sum_c += c;
    sum_oo += o * o;
    sum_cc += c * c;
    sum_oc += o * c;
    sum_dd += (c - o) * (c - o);
  }
  if (n < 2) {
    throw std::invalid_argument("compare_gauge: the observed record has " + std::to_string(n) +
                                " samples in the window, 2 are needed: choose a longer window");
  }
  const double covariance = sum_oc - sum_o * sum_c / n;
  const double spread = (sum_oo - sum_o * sum_o / n) * (sum_cc - sum_c * sum_c / n);
  const auto high_c = peak_inside(computed, window), high_o = peak_inside(observed, window);
  return {n,
          std::sqrt(sum_dd / n),
          std::sqrt(sum_oo / n),
          spread > 1e-24 ? covariance / std::sqrt(spread) : 0,
          high_c.value,
          high_c.time,
          high_o.value,
          high_o.time};
}

GaugeShift best_shift(const TimeSeries& observed, const TimeSeries& computed, const GaugeWindow& window,
                      double limit) {
  GaugeShift best{0, compare_gauge(observed, computed, window).rms};
  for (double shift = -limit; shift <= limit; shift += 5) {
    double sum = 0;
    int n = 0;
    for (std::size_t k = 0; k < observed.t.size(); ++k) {
      if (observed.t[k] < window.begin || observed.t[k] > window.end) continue;
      const double off = computed.at(observed.t[k] - shift) - observed.v[k];
      sum += off * off, ++n;
    }
    if (const double rms = std::sqrt(sum / n); rms < best.rms) best = {shift, rms};
  }
  return best;
}

}  // namespace io
