// SPDX-License-Identifier: Apache-2.0
// Draws what /data says, every two seconds. Names, reasons and messages are other people's words: they become text
// and never markup.
"use strict";

const everyMillis = 2000;
const key = location.hash.slice(1);
const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

const percent = (share) => `${Math.round(100 * share)} %`;
const clock = (millis) => new Date(millis).toLocaleTimeString();
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function span(millis) {
  const seconds = Math.max(0, Math.round(millis / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const minutes = `${Math.floor(seconds / 60) % 60}`;
  return seconds < 3600 ? `${minutes}:${two(seconds % 60)}`
                        : `${Math.floor(seconds / 3600)}:${two(minutes)}:${two(seconds % 60)}`;
}

// Steps: a size holds until the next one.
function sizesOverTime(job) {
  const [from, to] = [job.sizes[0][0], Math.max(job.end, job.sizes[0][0] + 1)];
  const most = Math.max(job.most, ...job.sizes.map(([, workers]) => workers), 1);
  const x = (time) => (1000 * (time - from)) / (to - from);
  const y = (workers) => 100 - (96 * workers) / most;
  let path = `M0,100`;
  let workers = 0;
  for (const [time, size] of job.sizes) {
    path += ` L${x(time)},${y(workers)} L${x(time)},${y(size)}`;
    workers = size;
  }
  path += ` L1000,${y(workers)} L1000,100 Z`;
  const chart = drawn("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
                              "aria-label": `workers of ${job.name} over time`});
  for (const limit of [job.least, job.most])
    chart.append(drawn("line", {class: "limit", x1: 0, x2: 1000, y1: y(limit), y2: y(limit)}));
  chart.append(drawn("path", {class: "area", d: path}));
  return [chart, element("div", {class: "axis"}, element("span", {}, clock(from)),
                         element("span", {}, `workers, ${job.least} to ${job.most}`),
                         element("span", {}, clock(to)))];
}

// What is useful, and what imbalance and communication take: as shares of all time they add up to 1.
function efficiencySplit(split) {
  const parts = [["useful", split.efficiency], ["balance", split.communication * (1 - split.loadBalance)],
                 ["communication", 1 - split.communication]];
  const bar = element("div", {class: "split", role: "img", "aria-label": "efficiency split"});
  for (const [name, share] of parts) {
    const part = element("div", {class: name});
    part.style.flexGrow = Math.max(0, share);
    bar.append(part);
  }
  return [bar, element("p", {class: "faint"},
                       `${percent(split.efficiency)} useful = load balance ${percent(split.loadBalance)} × ` +
                       `communication ${percent(split.communication)}`)];
}

function changeInHand(change, phases, now) {
  const at = phases.indexOf(change.phase);
  const list = element("ol", {class: "phases"});
  phases.forEach((phase, i) => list.append(
      element("li", {class: i === at ? "now" : i < at ? "past" : "next"}, phase)));
  const text = `${change.said || `${change.from} → ${change.to} workers`}: ${change.phase}, ${change.meaning}; ` +
      `for ${span(now - change.since)}`;
  return at < 0 ? [element("p", {}, text)] : [list, element("p", {}, text)];
}

function decisions(job) {
  const rows = job.decisions.slice().reverse().map((decision) => element("tr", {},
      element("td", {class: "faint"}, clock(decision.at)),
      element("td", {}, decision.from === decision.to ? `${decision.to}` : `${decision.from} → ${decision.to}`),
      element("td", {}, decision.text)));
  return element("table", {class: "decisions"}, element("tbody", {}, ...rows));
}

function card(job, data, open) {
  const made = element("article", {class: "job", "data-job": job.name});
  const size = job.wanted === job.workers ? plural(job.workers, "worker")
                                          : `${plural(job.workers, "worker")} (${job.wanted} wanted)`;
  made.append(element("div", {class: "title"}, element("h2", {}, job.name),
                      element("span", {class: "faint"}, job.namespace),
                      element("span", {class: "state"}, job.state),
                      element("span", {class: "size"}, size),
                      element("span", {class: "faint"}, job.start ? span(job.end - job.start) : ""),
                      element("strong", {class: "reason"}, job.reason)));
  if (job.sizes.length > 0) made.append(...sizesOverTime(job));
  if (job.split) made.append(...efficiencySplit(job.split));
  else if (!job.ended)
    made.append(element("p", {class: "faint"},
                        job.efficiency === null ? "efficiency unknown" : `efficiency ${percent(job.efficiency)}`));
  if (job.change) made.append(...changeInHand(job.change, data.phases, data.now));
  else if (job.lastChange) {
    const last = job.lastChange;
    made.append(element("p", {class: "faint"},
        `last change ${last.from} → ${last.to}: ${last.result}${last.reason ? `, ${last.reason}` : ""}; pods ready ` +
        `after ${last.preparedMillis} ms, committed after ${last.joinedMillis} ms, paused ${last.pausedMillis} ms`));
  }
  if (job.decisions.length > 0) made.append(decisions(job));
  const why = element("details", {}, element("summary", {}, "why"), element("pre", {}, job.why.join("\n")));
  why.open = open;
  made.append(why);
  return made;
}

function draw(data) {
  byId("where").textContent = data.where;
  const open = new Set([...document.querySelectorAll(".job")].filter((job) => job.querySelector("details").open)
                           .map((job) => job.dataset.uid));
  byId("jobs").replaceChildren(...data.jobs.map((job) => {
    const made = card(job, data, open.has(job.uid));
    made.dataset.uid = job.uid;
    return made;
  }));
  if (data.jobs.length === 0) byId("jobs").append(element("p", {class: "faint"}, "no jobs"));
  byId("queues").hidden = data.queues.length === 0;
  byId("queues").querySelector("pre").textContent = data.queues.join("\n");
}

async function look() {
  try {
    const answer = await fetch("/data", {headers: {"X-Empi-Key": key}});
    const data = await answer.json();
    if (!answer.ok) throw new Error(data.error);
    draw(data);
    byId("trouble").textContent = "";
  } catch (error) {
    byId("trouble").textContent = `not refreshed: ${error.message}`;
  }
  setTimeout(look, everyMillis);
}

look();
