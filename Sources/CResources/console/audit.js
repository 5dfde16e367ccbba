// Who did what, when, from where, and what came of it. It is read here and changed nowhere.

import { h } from "./dom.js";
import { moment } from "./format.js";
import { filters, head, input, select } from "./page.js";
import { listing } from "./listing.js";
import { chipOf, table } from "./table.js";

const kinds = { begun: "warn", done: "good", refused: "bad" };

export function open(main, { query, keep, signal }) {
  const values = Object.fromEntries(["by", "action", "state"].map((name) => [name, query.get(name) ?? ""]));
  const list = table("Acts", ({ id }) => id, [
    ["What", "head", ({ action, target, user }) => [action, [user, target].filter(Boolean).join(": ")]],
    ["Who", "long", ({ by, via }) => [by.startsWith("removed:") ? "a user who was removed" : by, via === "host" ? "on the host" : `by ${via === "api" ? "the API" : "the console"}`]],
    ["When", "", ({ at }) => moment(at)],
    ["From", "long named", ({ from }) => from ?? "–"],
    ["Result", "long", ({ state, result }, row) => [chipOf(row, state, kinds[state] ?? "quiet"), result ?? (state === "begun" ? "what became of it is not known" : "")]],
  ]);
  const shown = listing({
    list, path: "audit", values, signal, seconds: 5,
    nothing: ["Nobody has done anything yet", "Whatever changes something, on these pages, through the API or on the server's host, will stand here for a year."],
    noMatch: ["No act matches", "Names are compared whole: account:ann, key:shop, host:root."],
  });
  main.append(head("Audit"), h("p", { class: "quiet-text", text: "Every act of an operator, by page, API or on the server's host. It is kept for a year, and nobody edits it." }),
    filters(values, [["by", "Who", input({ "data-search": "", placeholder: "account:ann" })], ["action", "Action", input({ placeholder: "job.cancel" })],
      ["state", "Result", select([["", "every result"], ...Object.keys(kinds).map((kind) => [kind, kind])])]], () => {
      keep(values);
      shown.anew();
    }), shown.node);
}
