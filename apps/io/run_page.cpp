// SPDX-License-Identifier: Apache-2.0
#include "apps/io/run_page.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/io/file_error.hpp"
#include "apps/io/report.hpp"

namespace io {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr int kReloadSeconds = 4;

constexpr char kStyle[] = R"(
body { font: 16px/1.5 system-ui, sans-serif; color: #22262c; background: #fff; max-width: 1320px; margin: 2em auto;
  padding: 0 1em; }
h1 { margin-bottom: .2em } h2 { margin-top: 1.6em; border-bottom: 1px solid #ccd }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(600px, 100%), 1fr)); gap: 0 1em }
img { max-width: 100%; height: auto; border: 1px solid #dde } figure { margin: 1.2em 0 }
td { padding: 0 1.5em 0 0 } td + td { text-align: right } figcaption { color: #5a606a } li { margin: .25em 0 } .state { background: #eef3f9; padding: .5em .8em }
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  return result;
}

// A file name as a relative link.
std::string link(const std::string& name) {
  std::string result = "./";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      result += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(byte));
      result += code;
    }
  }
  return result;
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string duration(double seconds) {
  const long all = std::lround(std::max(0.0, seconds));
  return all >= 3600 ? format("%ld:%02ld:%02ld", all / 3600, all / 60 % 60, all % 60)
                     : format("%ld:%02ld", all / 60, all % 60);
}

// What a file holds that others write meanwhile.
json object_in(const fs::path& path) {
  try {
    return read_json(path);
  } catch (const FileError&) {
    return json::object();
  }
}

std::optional<double> number(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string string(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Of "2026-01-02T03:04:05.678Z", s since 1970.
std::optional<double> time_of(const std::string& text) {
  std::tm parts{};
  int used = 0;
  double seconds = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lf%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                  &parts.tm_hour, &parts.tm_min, &seconds, &used) != 6)
    return std::nullopt;
  parts.tm_year -= 1900, parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) + seconds;
}

std::string workers(double count) { return format(count == 1 ? "%.0f worker" : "%.0f workers", count); }

std::string running_text(const fs::path& folder) {
  const json progress = object_in(folder / "progress.json");
  std::string text = "The job is running";
  const auto ranks = number(progress, "ranks");
  if (const auto size = ranks ? ranks : number(progress, "workers")) text += " on " + workers(*size);
  if (const auto share = number(progress, "progress")) text += format(", %.0f %% done", 100 * *share);
  const auto time = number(progress, "time_s"), end = number(progress, "end_s");
  constexpr double day = 86400;
  if (time && end)
    text += *end >= 3 * day ? format(", simulated %.1f of %.1f days", *time / day, *end / day)
                            : ", simulated " + duration(*time) + " of " + duration(*end);
  if (const std::string phase = string(progress, "phase"); !phase.empty()) text += ", " + phase;
  return text + ". This page loads itself again while pictures come.";
}

std::string ended_text(const json& summary) {
  const std::string result = string(summary, "result");
  if (result.empty()) return "Pictures of a run.";
  std::string text = "The job " + string(summary, "job") + " has ended: " + result;
  if (const std::string reason = string(summary, "reason"); !reason.empty()) text += ", " + reason;
  if (const auto run = number(summary, "run_time_s")) text += "; it ran " + duration(*run);
  if (const auto changes = summary.find("changes"); changes != summary.end() && changes->is_array())
    text += format(" and changed its size %zu times", changes->size());
  return text + ".";
}

std::string at(const json& decision, std::optional<double> start) {
  const std::string text = string(decision, "time");
  const auto time = time_of(text);
  return time && start && *start > 0 ? "After " + duration(*time - *start) : text;
}

std::string list(const std::string& items) { return items.empty() ? "" : "<ol>\n" + items + "</ol>\n"; }

// Those that changed the size; the others, of which there may be many, when they are asked for.
std::string decisions_html(const json& summary) {
  std::string items, others;
  int stayed = 0;
  const auto start = number(summary, "start_time_s");
  for (const json& d : summary.value("decisions", json::array())) {
    const auto from = number(d, "from"), to = number(d, "to");
    std::string text = at(d, start);
    if (from && to)
      text += *from == *to ? ", stay on " + workers(*to) : format(", from %.0f to ", *from) + workers(*to);
    if (const std::string reason = string(d, "reason"); !reason.empty()) text += ": " + reason;
    const auto predicted = number(d, "predicted_s"), achieved = number(d, "achieved_s");
    if (predicted && achieved)
      text += format(" (an iteration was predicted to take %.3g s and takes %.3g s)", *predicted, *achieved);
    const bool stays = from && to && *from == *to;
    stayed += stays;
    (stays ? others : items) += "<li>" + escaped(text) + "</li>\n";
  }
  if (stayed == 0) return list(items);
  return list(items) + format("<details><summary>%d times the size stayed as it was</summary>\n", stayed) +
         list(others) + "</details>\n";
}

std::string changes_html(const json& summary) {
  std::string items;
  for (const json& c : summary.value("changes", json::array())) {
    const auto from = number(c, "from"), to = number(c, "to"), pause = number(c, "pause_ms");
    if (!from || !to) continue;
    std::string text = format("%.0f to ", *from) + workers(*to) + ": " + string(c, "outcome");
    if (pause) text += format(", the program stood still for %.0f ms", *pause);
    if (const std::string reason = string(c, "reason"); !reason.empty()) text += " (" + reason + ")";
    items += "<li>" + escaped(text) + "</li>\n";
  }
  return items;
}

std::string caption_of(const fs::path& picture, const PageText& text) {
  std::string name = picture.filename();
  const auto described =
      std::ranges::find_if(text.captions, [&](const auto& known) { return name.starts_with(known.first); });
  if (described == text.captions.end()) return name;
  const auto& [begin, caption] = *described;
  const std::string stem = picture.stem();
  std::string which = stem.substr(std::min(begin.size(), stem.size()));
  if (which.starts_with('-')) which.erase(0, 1);
  return which.empty() ? caption : caption + " (" + which + ")";
}

std::string figure(const fs::path& picture, const PageText& text) {
  const std::string source = link(picture.filename()), caption = escaped(caption_of(picture, text));
  return "<figure><a href=\"" + source + "\"><img src=\"" + source + "\" alt=\"" + caption +
         "\" loading=\"lazy\"></a>\n<figcaption>" + caption + "</figcaption></figure>\n";
}

std::string files_html(const fs::path& folder) {
  std::string items;
  for (const char* name : {"summary.json", "profile.csv"})
    if (fs::exists(folder / name))
      items += std::string(items.empty() ? "" : ", ") + "<a href=\"" + link(name) + "\">" + name + "</a>";
  return items.empty() ? "" : "<p>The figures behind it: " + items + "</p>\n";
}

std::string table_html(const PageTable& table) {
  std::string rows;
  for (const auto& [what, much] : table.rows)
    rows += "<tr><td>" + escaped(what) + "</td><td>" + escaped(much) + "</td></tr>\n";
  return rows.empty() ? "" : "<table>\n" + rows + "</table>\n";
}

std::string section(const std::string& title, const std::string& content) {
  return content.empty() ? "" : "<h2>" + title + "</h2>\n" + content;
}

}  // namespace

std::vector<fs::path> pictures(const fs::path& folder, const PageText& text) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".png") found.push_back(entry.path());
  const auto place = [&](const fs::path& path) {
    const std::string name = path.filename();
    const auto kind = std::ranges::find_if(
        text.captions, [&](const auto& caption) { return name.starts_with(caption.first); });
    return std::pair(kind - text.captions.begin(), name);
  };
  std::ranges::sort(found, {}, place);
  return found;
}

void write_page(const fs::path& folder, const PageText& text, bool running) {
  const json summary = running ? json::object() : object_in(folder / "summary.json");
  std::string profile, others;
  for (const fs::path& picture : pictures(folder, text))
    (picture.filename() == "resources.png" ? profile : others) += figure(picture, text);
  std::string decisions = decisions_html(summary);
  if (decisions.empty())
    decisions = running
                    ? "<p>They are listed here when the job has ended; the terminal shows each one as it is "
                      "taken.</p>\n"
                    : "<p>None is recorded.</p>\n";
  std::string tables;
  for (const PageTable& table : text.tables) tables += section(escaped(table.title), table_html(table));
  const std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
      (running ? format("<meta http-equiv=\"refresh\" content=\"%d\">\n", kReloadSeconds) : "") +
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escaped(text.title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" +
      escaped(text.title) + "</h1>\n<p>" + escaped(text.about) + "</p>\n<p class=\"state\">" +
      escaped(running ? running_text(folder) : ended_text(summary)) + "</p>\n" +
      section("Resource profile", profile) + section("Decisions", decisions) +
      section("Changes of size", list(changes_html(summary))) + tables +
      section("Pictures", others.empty() ? "" : "<div class=\"pictures\">\n" + others + "</div>\n") +
      files_html(folder) + "</body>\n</html>\n";
  write_text(folder / "index.html", html);
}

void print_pictures(const fs::path& folder, const PageText& text) {
  std::printf("pictures:\n");
  for (const fs::path& picture : pictures(folder, text)) std::printf("  %s\n", picture.c_str());
  std::printf("all of them, with the decisions in words: %s\n", (folder / "index.html").c_str());
}

}  // namespace io
