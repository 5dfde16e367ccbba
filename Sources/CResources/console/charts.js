// Bars, and a line of the last minute: of elements alone.

import { h, s, put } from "./dom.js";
import { number } from "./format.js";

const width = (element, share) => {
  const value = `${(Math.max(0, Math.min(1, share || 0)) * 100).toFixed(2)}%`;
  if (element.style.width !== value) element.style.width = value;
};

/** A bar of a job: accepted, failed, stopped, and what is open is left free. It is a picture; `<progress>` beside it has the words. */
export function outcomes(extra = "") {
  const [accepted, failed, stopped] = ["accepted", "failed", "stopped"].map((name) => h("span", { class: name }));
  const node = h("div", { class: `bar ${extra}`, "aria-hidden": "true" }, accepted, failed, stopped);
  return { node, show(counts, whole) {
    const all = Math.max(whole || 0, counts?.targets ?? 0) || 1;
    const wrong = Object.values(counts?.failed ?? {}).reduce((sum, count) => sum + count, 0);
    width(accepted, (counts?.accepted ?? 0) / all);
    width(failed, wrong / all);
    width(stopped, ((counts?.expired ?? 0) + (counts?.cancelled ?? 0)) / all);
  } };
}

/** The progress of something, with its label. */
export function progress(label) {
  const node = h("progress", { max: "1", "aria-label": label });
  return { node, show(share, isOver = false) {
    node.value = Math.max(0, Math.min(1, share ?? 0));
    node.classList.toggle("is-over", isOver);
  } };
}

/** Values of the last so many seconds. */
export class History {
  constructor(seconds = 60) {
    this.seconds = seconds;
    this.points = [];
  }

  /** One value each half second at most: events may come faster. */
  add(value, at = Date.now()) {
    const last = this.points.at(-1);
    if (last && at - last.at < 500) last.value = value;
    else this.points.push({ at, value });
    this.points = this.points.filter((point) => at - point.at <= this.seconds * 1000);
  }
}

/** A line of a history; the newest value is at its right end. */
export function spark(label, unit) {
  const area = s("path", { class: "area" });
  const line = s("path");
  const title = s("title");
  const node = s("svg", { class: "spark", viewBox: "0 0 240 48", preserveAspectRatio: "none", role: "img" }, title, area, line);
  return { node, show(history, now = Date.now()) {
    const top = Math.max(1, ...history.points.map(({ value }) => value)) * 1.1;
    const places = history.points.map(({ at, value }) => {
      const x = 240 - ((now - at) / (history.seconds * 1000)) * 240;
      return `${Math.max(0, x).toFixed(1)} ${(47 - (value / top) * 44).toFixed(1)}`;
    });
    const first = places[0]?.split(" ")[0] ?? "240";
    line.setAttribute("d", places.length > 1 ? `M${places.join("L")}` : `M${first} 47L240 47`);
    area.setAttribute("d", places.length > 1 ? `M${first} 48L${places.join("L")}L${places.at(-1).split(" ")[0]} 48Z` : "");
    const values = history.points.map(({ value }) => value);
    put(title, values.length ? `${label}: ${number(values.at(-1))} ${unit} now, ${number(Math.max(...values))} at most in the last minute` : `${label}: nothing known yet`);
  } };
}

/** A number with its name, and what stands below it. */
export function figure(name, kind = "") {
  const value = h("p", { class: "value", text: "–" });
  const under = h("p", { class: "under" });
  const node = h("div", { class: `figure ${kind}` }, h("p", { class: "name", text: name }), value, under);
  return { node, value, show(words, below = "") {
    put(value, words);
    put(under, below);
  } };
}
