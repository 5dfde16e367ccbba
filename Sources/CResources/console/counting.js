// To whom, and how many that are: asked as one types, one question at a time.

import { h, put, show } from "./dom.js";
import { number, plural, serviceName } from "./format.js";
import { ended, field, input, post, reason, select } from "./page.js";

/** Does the work when nothing has changed for a while, never twice at a time, and always for the last state. */
export function settle(work, wait = 300) {
  let [timer, isUnderWay, isWanted] = [undefined, false, false];
  const run = async () => {
    isWanted = isUnderWay;
    if (isUnderWay) return;
    isUnderWay = true;
    try {
      await work();
    } finally {
      isUnderWay = false;
      if (isWanted) run();
    }
  };
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  };
}

/** How devices are named, and what is typed for it. */
const kinds = [
  ["tags", "by tags", "beta && (ios || android) && !muted"], ["user", "one user", "ann"], ["users", "several users", "ann, bob"],
  ["registrations", "by ids of registrations", "phone-17, phone-18"], ["all", "all devices", ""],
];

/** `to` of a send; undefined where nothing is typed. */
export function recipients(kind, text) {
  const value = text.trim();
  if (kind === "all") return { all: true };
  if (!value) return undefined;
  return { [kind]: ["users", "registrations"].includes(kind) ? value.split(/[,\n]/).map((name) => name.trim()).filter(Boolean) : value };
}

/** What is typed, of a `to`. */
export function typed(to) {
  if (!to) return ["tags", ""];
  const [kind, value] = Object.entries(to)[0];
  if (kind === "tag") return ["tags", value];
  if (kind === "all") return ["all", ""];
  return [kind, Array.isArray(value) ? value.join(kind === "tags" ? " || " : ", ") : value];
}

/** Where an expression is wrong: the words, and the column. */
function place(error) {
  const [, column, why] = error.message.match(/column (\d+): (.*)$/s) ?? [];
  return column ? [`Column ${column}: ${why}`, Number(column)] : [error.status === 400 ? error.message.replace(/^\d+: (to[\w.]*: )?/, "") : reason(error), null];
}

/** The fields that say for whom it is, counted as they are typed. `tell` is told the count, and null where nothing is known yet. */
export function audienceFields([kind, which], signal, tell, services = () => undefined) {
  const kindField = field("Devices", select(kinds, kind));
  const whichField = field("Which", input({ value: which, maxlength: "100000" }));
  const mark = h("pre");
  const total = h("p", { class: "value", id: "counted", role: "status", text: "–" });
  const under = h("p", { class: "under" });
  const to = () => recipients(kindField.input.value, whichField.input.value);
  const fail = (words, column, below = "") => {
    whichField.blame(words);
    const text = whichField.input.value;
    // The line below the field says where.
    mark.replaceChildren(...(column ? [text.slice(0, column - 1), h("mark", { text: text.slice(column - 1, column) || " " }), text.slice(column)] : []));
    put(total, "–");
    put(under, below);
  };
  const count = settle(async () => {
    const now = to();
    if (!now) return fail("", null, "Say whom it is for, and they are counted.");
    try {
      const found = await post("sends/count", { to: now, services: services() });
      if (signal.aborted || JSON.stringify(now) !== JSON.stringify(to())) return;
      fail("", null, Object.entries(found.counts).filter(([, value]) => value > 0).map(([service, value]) => `${serviceName(service)} ${number(value)}`).join(" · ") || "Nobody has such a device.");
      put(total, `${found.isComplete ? "" : "at least "}${plural(found.total, "device")}`);
      tell(found);
    } catch (error) {
      if (error.status === 401) return ended.tell();
      fail(...place(error));
    }
  });
  const change = () => {
    show(whichField.node, kindField.input.value !== "all");
    whichField.input.placeholder = kinds.find(([value]) => value === kindField.input.value)[2];
    tell(null);
    count();
  };
  for (const { input } of [kindField, whichField]) input.addEventListener("input", change);
  change();
  return { node: h("div", { class: "stack" }, h("div", { class: "pair" }, kindField.node, whichField.node), mark, h("div", { class: "figure" }, total, under)),
    to, count, typed: () => ({ kind: kindField.input.value, which: whichField.input.value }) };
}
