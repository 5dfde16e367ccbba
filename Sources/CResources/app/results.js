// Lists of what was sent and received. Whatever comes from others is text: nothing here makes markup of it.

import { text } from "./texts.js";

const seen = (id) => document.getElementById(id);

/** Appends a line; returns what says it anew. */
export function append(list, words, kind = "") {
  const line = document.createElement("li");
  const show = (words, kind = "") => {
    line.textContent = words;
    line.className = kind;
  };
  show(words, kind);
  seen(list).append(line);
  seen(`${list}-empty`).hidden = true;
  return { line, show };
}

/** Leaves a list as it was in the beginning. */
export function clear(list) {
  seen(list).replaceChildren();
  seen(`${list}-empty`).hidden = false;
}

/** What became of a send, in words. */
export function state(job) {
  const { targets, accepted, failed: byClass, expired, cancelled } = job.totals;
  const failed = Object.values(byClass).reduce((sum, count) => sum + count, expired + cancelled);
  // A job that was ended before may not have looked for devices yet.
  if (job.state === "completed" && targets === 0) return [text("nobody"), "bad"];
  const counts = text("counts", { accepted, failed });
  const words = text(`state.${job.state}`);
  if (!job.isFinal) return [job.reason ? `${words}: ${job.reason}` : words, ""];
  return [`${words}. ${counts}`, job.state === "completed" && failed === 0 ? "good" : "bad"];
}
