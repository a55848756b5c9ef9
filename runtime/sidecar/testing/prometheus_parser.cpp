// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/testing/prometheus_parser.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>

namespace empi::sidecar::testing {
namespace {

bool starts_name(char c, bool metric) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (metric && c == ':');
}

// Reads one line from left to right.
class Cursor {
 public:
  explicit Cursor(const std::string& line) : line_(line) {}
  bool done() const { return at_ == line_.size(); }
  char peek() const { return done() ? '\0' : line_[at_]; }
  void expect(char c) {
    if (peek() != c)
      throw std::runtime_error("expected '" + std::string(1, c) + "' at column " + std::to_string(at_ + 1));
    ++at_;
  }
  std::string name(bool metric) {
    const std::size_t from = at_;
    if (!starts_name(peek(), metric))
      throw std::runtime_error("no name at column " + std::to_string(at_ + 1));
    while (starts_name(peek(), metric) || std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    return line_.substr(from, at_ - from);
  }
  std::string quoted() {
    std::string text;
    for (expect('"'); peek() != '"'; ++at_) {
      if (done()) throw std::runtime_error("label value without end");
      if (peek() != '\\') {
        text += peek();
        continue;
      }
      ++at_;
      if (peek() != '\\' && peek() != '"' && peek() != 'n') throw std::runtime_error("unknown escape");
      text += peek() == 'n' ? '\n' : peek();
    }
    expect('"');
    return text;
  }
  std::string rest() const { return line_.substr(at_); }

 private:
  const std::string& line_;
  std::size_t at_ = 0;
};

double number(const std::string& text) {
  if (text == "+Inf") return INFINITY;
  if (text == "-Inf") return -INFINITY;
  if (text == "NaN") return NAN;
  if (text.find_first_not_of("0123456789+-.eE") != std::string::npos || text.empty())
    throw std::runtime_error("no number: '" + text + "'");
  std::size_t used = 0;
  const double value = std::stod(text, &used);
  if (used != text.size()) throw std::runtime_error("no number: '" + text + "'");
  return value;
}

// The metric that a sample's name belongs to, which must be the one announced last.
void check_member(const std::string& sample, const std::string& metric, const std::string& type) {
  const bool distribution = type == "histogram" || type == "summary";
  const bool fits = distribution ? sample == metric + "_sum" || sample == metric + "_count" ||
                                       (type == "histogram" && sample == metric + "_bucket")
                                 : sample == metric;
  if (!fits)
    throw std::runtime_error("sample " + sample + " does not belong to the " + type + " " + metric +
                             " above it");
}

void check_histogram(const Scrape& scrape, const std::string& metric) {
  std::map<std::map<std::string, std::string>, std::map<double, double>>
      buckets;  // by other labels, then bound
  for (const auto& [series, value] : scrape.values) {
    if (series.name != metric + "_bucket") continue;
    auto labels = series.labels;
    if (!labels.contains("le")) throw std::runtime_error(metric + "_bucket without le");
    const double bound = number(labels["le"]);
    labels.erase("le");
    buckets[labels][bound] = value;
  }
  for (const auto& [labels, by_bound] : buckets) {
    double below = 0;
    for (const auto& [bound, count] : by_bound) {
      if (count < below) throw std::runtime_error(metric + ": buckets are not cumulative");
      below = count;
    }
    if (!by_bound.contains(INFINITY)) throw std::runtime_error(metric + ": no bucket +Inf");
    const auto count = scrape.values.find({metric + "_count", labels});
    if (count == scrape.values.end() || count->second != below ||
        !scrape.values.contains({metric + "_sum", labels}))
      throw std::runtime_error(metric + ": _count and _sum do not fit the buckets");
  }
}

struct Parser {
  Scrape scrape;
  std::string current;

  void comment(Cursor line) {
    line.expect('#');
    line.expect(' ');
    const std::string kind = line.name(false);
    if (kind != "HELP" && kind != "TYPE") throw std::runtime_error("neither HELP nor TYPE");
    line.expect(' ');
    const std::string metric = line.name(true);
    line.expect(' ');
    if (line.rest().empty()) throw std::runtime_error("empty " + kind);
    auto& known = kind == "HELP" ? scrape.helps : scrape.types;
    if (!known.emplace(metric, line.rest()).second)
      throw std::runtime_error("second " + kind + " of " + metric);
    if (kind == "HELP") return;
    static const std::set<std::string> types = {"counter", "gauge", "histogram", "summary", "untyped"};
    if (!types.contains(line.rest())) throw std::runtime_error("unknown type " + line.rest());
    if (!scrape.helps.contains(metric)) throw std::runtime_error(metric + " has no HELP before its TYPE");
    current = metric;
  }

  void sample(Cursor line) {
    Series series{line.name(true), {}};
    if (line.peek() == '{') {
      for (line.expect('{'); line.peek() != '}';) {
        const std::string key = line.name(false);
        line.expect('=');
        if (!series.labels.emplace(key, line.quoted()).second)
          throw std::runtime_error("second label " + key);
        if (line.peek() != '}') line.expect(',');
      }
      line.expect('}');
    }
    line.expect(' ');
    if (current.empty()) throw std::runtime_error("sample before any TYPE");
    check_member(series.name, current, scrape.types[current]);
    if (!scrape.values.emplace(series, number(line.rest())).second)
      throw std::runtime_error("second sample of " + series.name + " with the same labels");
  }
};

}  // namespace

Scrape parse_prometheus(const std::string& text) {
  if (!text.empty() && text.back() != '\n') throw std::runtime_error("the last line does not end");
  Parser parser;
  std::istringstream lines(text);
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    try {
      if (line.starts_with('#'))
        parser.comment(Cursor(line));
      else
        parser.sample(Cursor(line));
    } catch (const std::exception& e) {
      throw std::runtime_error("line " + std::to_string(n) + ": " + e.what() + ": " + line);
    }
  }
  for (const auto& [metric, type] : parser.scrape.types)
    if (type == "histogram") check_histogram(parser.scrape, metric);
  return parser.scrape;
}

double Scrape::value(const std::string& name, const std::map<std::string, std::string>& labels) const {
  const double* found = nullptr;
  for (const auto& [series, value] : values) {
    const bool fits = series.name == name && std::ranges::all_of(labels, [&series](const auto& label) {
                        const auto own = series.labels.find(label.first);
                        return own != series.labels.end() && own->second == label.second;
                      });
    if (fits && found) throw std::runtime_error("more than one series of " + name);
    if (fits) found = &value;
  }
  if (!found) throw std::runtime_error("no series of " + name);
  return *found;
}

bool Scrape::has(const std::string& name) const {
  return std::ranges::any_of(values, [&name](const auto& v) { return v.first.name == name; });
}

std::vector<std::string> decreases(const Scrape& before, const Scrape& after) {
  std::vector<std::string> found;
  for (const auto& [series, value] : before.values) {
    std::string metric = series.name;
    for (const char* suffix : {"_bucket", "_sum", "_count"})
      if (!before.types.contains(metric) && metric.ends_with(suffix))
        metric.resize(metric.size() - std::string(suffix).size());
    if (before.types.at(metric) == "gauge") continue;
    const auto now = after.values.find(series);
    if (now == after.values.end())
      found.push_back(series.name + " is gone");
    else if (now->second < value)
      found.push_back(series.name + " went from " + std::to_string(value) + " to " +
                      std::to_string(now->second));
  }
  return found;
}

}  // namespace empi::sidecar::testing
