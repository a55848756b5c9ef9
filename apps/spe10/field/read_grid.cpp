// SPDX-License-Identifier: Apache-2.0
// The few keywords of Eclipse's GRID section that say a block-centred field. Ours, for libopm-common's parser
// comes with all of Eclipse's keywords, and what the mesh cannot have (faults, dips, sizes that vary) it
// would accept.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/spe10/field/field.hpp"

namespace spe10 {
namespace {

using io::FileError;

constexpr int kDeepest = 8;                // files that include one another
constexpr std::int64_t kMost = 100000000;  // blocks

// Words of one file without its comments. A slash ends a record, and what follows it in its line is a
// comment.
class Words {
 public:
  explicit Words(std::string file)
      : path(std::move(file)), bytes_(io::read_bytes(path)), text_(path, {bytes_.data(), bytes_.size()}) {}
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  // "/" for the end of a record; nothing at the end of the file.
  std::optional<std::string_view> next() {
    while (at_ == words_.size()) {
      const auto line = text_.next_line();
      if (!line) return std::nullopt;
      split(*line);
    }
    return words_[at_++];
  }
  // What is left of this line, and the next one: a title is no keyword.
  void skip_line() {
    at_ = words_.size();
    text_.next_line();
  }
  std::size_t line() const { return text_.line(); }
  [[noreturn]] void fail(const std::string& expected, const std::string& found,
                         const std::string& advice) const {
    text_.fail(expected, found, advice);
  }

  const std::string path;

 private:
  void split(std::string_view line) {
    words_.clear(), at_ = 0;
    for (std::size_t i = 0; i < line.size();) {
      if (line[i] == ' ' || line[i] == '\t') {
        ++i;
      } else if (line[i] == '/') {
        return words_.push_back(line.substr(i, 1));
      } else if (line.substr(i).starts_with("--")) {
        return;
      } else if (line[i] == '\'') {
        const std::size_t end = std::min(line.find('\'', i + 1), line.size());
        words_.push_back(line.substr(i + 1, end - i - 1));
        i = end + 1;
      } else {
        const std::size_t end = std::min(line.find_first_of(" \t/'", i), line.size());
        words_.push_back(line.substr(i, end - i));
        i = end;
      }
    }
  }

  std::vector<char> bytes_;
  io::TextScanner text_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

// What a property may be.
struct Range {
  double low, high;
  const char* what;
};
const std::map<std::string, Range, std::less<>> kProperties = {
    {"PERMX", {0, 1e6, "a permeability in mD, above 0 and up to 1e6"}},
    {"PERMY", {0, 1e6, "a permeability in mD, above 0 and up to 1e6"}},
    {"PERMZ", {0, 1e6, "a permeability in mD, above 0 and up to 1e6"}},
    {"PORO", {0, 1, "a porosity from 0 to 1"}},
    {"ACTNUM", {0, 1, "0 or 1"}}};

class GridReader {
 public:
  explicit GridReader(std::string path) : path_(std::move(path)) {}

  Field read() {
    read(path_, 0);
    return finish();
  }

 private:
  struct Place {
    std::string path;
    std::size_t line = 0;
  };
  struct Property {
    std::vector<float> values;
    std::map<std::size_t, Place> zeros;  // where blocks that may be inactive have none
  };

  std::size_t blocks() const {
    return static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1]) *
           static_cast<std::size_t>(size_[2]);
  }

  void read(const std::string& path, int depth) {
    Words words(path);
    while (!ended_) {
      const auto word = words.next();
      if (!word) return;
      keyword(words, std::string(*word), depth);
    }
  }

  void keyword(Words& words, const std::string& name, int depth) {
    static const std::set<std::string, std::less<>> silent = {"NOECHO", "ECHO", "INIT", "FIELD"};
    static const std::set<std::string, std::less<>> lengths = {"DX", "DY", "DZ", "DXV", "DYV", "DZV"};
    if (name == "RUNSPEC")
      in_runspec_ = true;
    else if (name == "GRID")
      in_runspec_ = false;
    else if (name == "PROPS" || name == "EDIT")
      ended_ = true;
    else if (name == "TITLE")
      words.skip_line();
    else if (name == "INCLUDE")
      include(words, depth);
    else if (name == "DIMENS")
      dimensions(words);
    else if (name == "METRIC" || name == "LAB")
      words.fail("field units (ft, mD)", name, "convert the field and say FIELD");
    else if (in_runspec_ || silent.contains(name))
      return;  // of RUNSPEC the size is all that is wanted
    else if (size_[0] == 0)
      words.fail("DIMENS first", io::in_quotes(name), "say DIMENS with nx, ny, nz /");
    else if (name == "TOPS")
      top_ = one_value(words, name, layer_blocks(), 0, 1e5, "depth in ft", "layers that dip");
    else if (lengths.contains(name))
      sizes(words, name);
    else if (kProperties.contains(name))
      property(words, name);
    else if (name == "COPY")
      copy(words);
    else if (name == "MULTIPLY")
      multiply(words);
    else
      words.fail(
          "DIMENS, DX, DY, DZ, DXV, DYV, DZV, TOPS, PERMX, PERMY, PERMZ, PORO, ACTNUM, COPY, MULTIPLY or "
          "INCLUDE",
          io::in_quotes(name), "this is all that a field here can have");
  }

  std::size_t layer_blocks() const { return blocks() / static_cast<std::size_t>(size_[2]); }

  void include(Words& words, int depth) {
    const auto record = this->record(words);
    if (record.size() != 1)
      words.fail("INCLUDE 'file' /", std::to_string(record.size()) + " words", "correct it");
    if (depth == kDeepest)
      words.fail("files that include one another less than " + std::to_string(kDeepest) + " deep", "more",
                 "does one include itself?");
    const std::filesystem::path beside = std::filesystem::path(path_).parent_path() / record[0];
    read(beside.string(), depth + 1);
  }

  void dimensions(Words& words) {
    if (size_[0] != 0) words.fail("DIMENS once", "another one", "remove one");
    const auto record = this->record(words);
    std::int64_t all = 1;
    bool good = record.size() == 3;
    for (std::size_t d = 0; good && d < 3; ++d) {
      double value = 0;
      good = io::TextScanner::parse(record[d], value) && value >= 1 && value <= 1e6 &&
             value == std::floor(value);
      if (good) size_[d] = static_cast<int>(value), all *= size_[d];
      good = good && all <= kMost;
    }
    if (!good)
      words.fail("three numbers of blocks of at least 1 that make 1e8 blocks at most", joined(record),
                 "DIMENS wants nx ny nz /");
  }

  static std::string joined(const std::vector<std::string>& record) {
    std::string all;
    for (const std::string& word : record) all += (all.empty() ? "" : " ") + word;
    return io::in_quotes(all);
  }

  // The words up to the slash.
  static std::vector<std::string> record(Words& words) {
    std::vector<std::string> record;
    for (;;) {
      const auto word = words.next();
      if (!word) words.fail("a '/' after the record", "the end of the file", "is the file cut off?");
      if (*word == "/") return record;
      record.emplace_back(*word);
    }
  }

  // Numbers with Eclipse's repeats (3*0.2), as many as `count`, then a slash. take(n, value) on each.
  template <class Take>
  static void values(Words& words, const std::string& name, std::size_t count, const char* what, double low,
                     double high, Take&& take) {
    const auto which = [&](std::size_t n) {
      return name + " " + std::to_string(n + 1) + " of " + std::to_string(count);
    };
    for (std::size_t n = 0; n < count;) {
      const auto word = words.next();
      if (!word) words.fail(which(n), "the end of the file", "is the file cut off?");
      if (*word == "/") words.fail(which(n), "'/'", "give a value for each block");
      double repeats = 1, value = 0;
      const std::size_t star = word->find('*');
      const bool counted = star == word->npos || (io::TextScanner::parse(word->substr(0, star), repeats) &&
                                                  repeats >= 1 && repeats == std::floor(repeats));
      const auto number = star == word->npos ? *word : word->substr(star + 1);
      if (!counted || !io::TextScanner::parse(number, value) || value < low || value > high)
        words.fail(which(n) + ": " + what, io::in_quotes(*word), "correct the value");
      if (repeats > static_cast<double>(count - n))
        words.fail("the '/' after " + std::to_string(count) + " values of " + name, io::in_quotes(*word),
                   "DIMENS says how many there are");
      for (auto left = static_cast<std::size_t>(repeats); left > 0; --left) take(n++, value);
    }
    const auto end = words.next();
    if (!end || *end != "/")
      words.fail("the '/' after " + std::to_string(count) + " values of " + name,
                 end ? io::in_quotes(*end) : "the end of the file", "DIMENS says how many there are");
  }

  // What must be the same everywhere.
  static double one_value(Words& words, const std::string& name, std::size_t count, double low, double high,
                          const char* what, const std::string& otherwise) {
    double first = 0;
    values(words, name, count, what, low, high, [&](std::size_t n, double value) {
      if (n == 0) first = value;
      if (std::abs(value - first) > 1e-4 * std::abs(first))
        words.fail(name + " " + std::to_string(n + 1) + " of " + std::to_string(count) + " as the first, " +
                       std::to_string(first),
                   std::to_string(value), otherwise + " cannot be computed here");
    });
    return first;
  }

  void sizes(Words& words, const std::string& name) {
    const auto d = static_cast<std::size_t>(name[1] - 'X');
    const std::size_t count = name.size() == 3 ? static_cast<std::size_t>(size_[d]) : blocks();
    length_[d] = one_value(words, name, count, 1e-3, 1e5, "a length in ft, from 0.001 to 1e5",
                           "blocks of different sizes");
  }

  void property(Words& words, const std::string& name) {
    const Range& range = kProperties.at(name);
    Property& p = properties_[name];
    p.values.assign(blocks(), 0), p.zeros.clear();
    values(words, name, blocks(), range.what, range.low, range.high, [&](std::size_t n, double value) {
      p.values[n] = static_cast<float>(value);
      if (p.values[n] == 0 && name.starts_with("PERM")) p.zeros[n] = {words.path, words.line()};
      if (name == "ACTNUM" && value != 0 && value != 1)
        words.fail(range.what, std::to_string(value), "correct it");
    });
  }

  Property& known(Words& words, const std::string& name) {
    const auto found = properties_.find(name);
    if (found == properties_.end())
      words.fail("a property that was given before", io::in_quotes(name), "give it first");
    return found->second;
  }

  // Records of the form FROM TO /, then a slash alone.
  void copy(Words& words) {
    for (auto r = record(words); !r.empty(); r = record(words)) {
      if (r.size() != 2 || !kProperties.contains(r[1]))
        words.fail("FROM TO / of the whole field", joined(r), "boxes are not read: give the values");
      properties_[r[1]] = known(words, r[0]);
    }
  }

  void multiply(Words& words) {
    for (auto r = record(words); !r.empty(); r = record(words)) {
      double by = 0;
      if (r.size() != 2 || !io::TextScanner::parse(r[1], by) || by <= 0)
        words.fail("PROPERTY FACTOR / of the whole field, with a factor above 0", joined(r),
                   "boxes are not read: give the values");
      Property& property = known(words, r[0]);
      const Range& range = kProperties.at(r[0]);
      for (float& value : property.values) {
        const bool any = value > 0;
        value *= static_cast<float>(by);
        if (!(value <= range.high) || (any && value == 0))
          words.fail(range.what, std::to_string(value), "is the factor right?");
      }
    }
  }

  [[noreturn]] void lacks(const std::string& what) const {
    throw FileError(path_, "", what, "none", "docs/spe10.md says what a field is made of");
  }

  Field finish() {
    Field f;
    if (size_[0] == 0) lacks("DIMENS");
    f.nx = size_[0], f.ny = size_[1], f.nz = size_[2];
    for (std::size_t d = 0; d < 3; ++d)
      if (length_[d] == 0) lacks(std::string("D") + "XYZ"[d] + " or D" + "XYZ"[d] + "V");
    f.dx = length_[0], f.dy = length_[1], f.dz = length_[2], f.top = top_;
    for (const char* name : {"PERMX", "PERMY", "PERMZ", "PORO"})
      if (!properties_.contains(name)) lacks(name);
    f.phi = std::move(properties_["PORO"].values);
    if (const auto actnum = properties_.find("ACTNUM"); actnum != properties_.end())
      for (std::size_t b = 0; b < f.phi.size(); ++b)
        if (actnum->second.values[b] == 0) f.phi[b] = 0;
    f.description = "field of " + path_ + ", " + std::to_string(f.nx) + " x " + std::to_string(f.ny) + " x " +
                    std::to_string(f.nz) + " blocks";
    bound_porosity(f);
    if (std::ranges::none_of(f.phi, [](float phi) { return phi > 0; })) lacks("a block with PORO above 0");
    for (const char* name : {"PERMX", "PERMY", "PERMZ"}) {
      const Property& p = properties_[name];
      for (std::size_t block = 0; block < f.phi.size(); ++block) {
        if (p.values[block] > 0 || !f.active(block)) continue;
        const auto zero = p.zeros.find(block);  // none: COPY has it from another property
        throw FileError(
            zero == p.zeros.end() ? path_ : zero->second.path,
            zero == p.zeros.end() ? "" : std::to_string(zero->second.line),
            std::string(name) + " " + std::to_string(block + 1) + ": " + kProperties.at(name).what,
            "0 in a block with pores", "for a barrier give a very small one, or ACTNUM or PORO 0");
      }
    }
    f.kx = std::move(properties_["PERMX"].values), f.ky = std::move(properties_["PERMY"].values);
    f.kz = std::move(properties_["PERMZ"].values);
    if (f.ky == f.kx) f.ky = {};
    return f;
  }

  const std::string path_;
  bool in_runspec_ = false, ended_ = false;
  int size_[3] = {};
  double length_[3] = {};
  std::optional<double> top_;
  std::map<std::string, Property, std::less<>> properties_;
};

}  // namespace

Field read_grid(const std::string& path) { return GridReader(path).read(); }

}  // namespace spe10
