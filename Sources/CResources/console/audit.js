// Who did what, when, from where, and what came of it. It is read here and changed nowhere.

import { h } from "./dom.js";
import { moment } from "./format.js";
import { filters, given, head, input, select } from "./page.js";
import { listing } from "./listing.js";
import { chipOf, linkOf, table } from "./table.js";

/** What an operator may have done, by its name in the audit: in words, and where what it was done to is to be seen. */
const actions = {
  "account.add": ["added an account", "people"],
  "account.change": ["changed an account", "people"],
  "account.remove": ["removed an account", "people"],
  "app.apply": ["declared the app", "app"],
  "channel.add": ["added a broadcast channel"],
  "channel.remove": ["removed a broadcast channel"],
  "console.link": ["made a link to the console", "people"],
  "console.open": ["signed in to the console"],
  "dead.discard": ["discarded dead letters", "dead"],
  "dead.replay": ["replayed dead letters", "dead"],
  "devices.export": ["exported devices", "audience"],
  "devices.import": ["imported devices", "audience"],
  "job.cancel": ["cancelled sends", "sends"],
  "key.add": ["made a key", "people"],
  "key.revoke": ["revoked a key", "people"],
  "queue.pause": ["paused a queue", "queues"],
  "queue.resume": ["resumed a queue", "queues"],
  "rule.add": ["added a rule of the hub"],
  "rule.change": ["changed a rule of the hub"],
  "rule.remove": ["removed a rule of the hub"],
  "send": ["sent by hand", "sends"],
  "user.remove": ["removed a user"],
};

const states = { begun: ["broken off, or under way", "warn"], done: ["done", "good"], refused: ["refused", "bad"] };

const kinds = { account: "account", key: "key", host: "on the host" };

/** What a refusal's status means to whoever asks why. */
const refusals = { 400: "what was asked for was wrong", 403: "not allowed", 404: "it was not there", 409: "it could not be done then", 507: "there was no room" };

export function open(main, { query, keep, signal }) {
  const values = Object.fromEntries(["by", "action", "state"].map((name) => [name, query.get(name) ?? ""]));
  const list = table("Acts", ({ id }) => id, [
    ["What", "head", (act, row) => [actions[act.action]?.[0] ?? act.action, aim(act, row)]],
    ["Who", "long", ({ by, via }) => [who(by), [kinds[by.split(":")[0]], via === "api" && "by the API", via === "console" && "by the console"].filter(Boolean).join(", ")]],
    ["When", "", ({ at }) => moment(at)],
    ["From", "long named", ({ from }) => from ?? "–"],
    ["Result", "long", (act, row) => [chipOf(row, act.state, states[act.state]?.[1] ?? "quiet"), outcome(act)]],
  ]);
  const shown = listing({
    list, path: "audit", values, signal, seconds: 5,
    nothing: ["Nobody has done anything yet", "Whatever changes something, on these pages, through the API or on the server's host, will stand here for a year."],
    noMatch: ["No act matches", "Names are compared whole. Leave a filter empty to see more."],
  });
  main.append(head("Audit"), h("p", { class: "quiet-text", text: "Every act of an operator, by page, API or on the server's host. It is kept for a year, and nobody edits it." }),
    filters(values, [["by", "Who", input({ "data-search": "", placeholder: "ann", maxlength: "300" })],
      ["action", "Action", select([["", "every action"], ...Object.entries(actions).map(([action, [words]]) => [action, words])])],
      ["state", "Result", select([["", "every result"], ...Object.entries(states).map(([state, [words]]) => [state, words])])]], () => {
      keep(values);
      shown.anew();
    }), shown.node);
}

/** A name, of what an entry says of who it was. */
export const who = (by) => (by.startsWith("removed:") ? "a user who was removed" : by.slice(by.indexOf(":") + 1));

/** Of an act on all that matched, what they had in common; null for any other. */
export const common = (target = "") => target.match(/^all: (.*?)(?:, )?up to \S+(?: removed:\S+)?$/)?.[1] ?? null;

/** What it was done to: a link where there is a page of it. */
function aim(act, row) {
  const { action, user, job, target } = act;
  if (job) return linkOf(row, `#/sends/${job.id}`, job.label ?? `the send ${job.id}`);
  const matched = common(target);
  const words = [user, matched === null ? (action.startsWith("dead.") && target ? `No. ${target}` : target) : `all that matched${matched ? `: ${matched}` : ""}`].filter(Boolean).join(": ").replace(/removed:\S+/, "a user who was removed");
  const page = actions[action]?.[1];
  if (!page || (page === "sends" && matched === null)) return words;
  const filter = page === "audience" ? given({ user }) : page === "sends" ? given({ ...conditions(matched), user }) : "";
  return linkOf(row, `#/${page}${String(filter) && `?${filter}`}`, words || { app: "its declaration", audience: "the devices" }[page] || "see the page");
}

/** The sends that an act on all that matched was for; the state that they had is another now. */
function conditions(matched) {
  const [, label, key] = matched.match(/^(?:label (.*?))?(?:(?:^|, )state \w+)?(?:(?:^|, )key (.*))?$/) ?? [];
  return { label, key };
}

function outcome({ state, result, job }) {
  if (state === "begun") return "what became of it is not known";
  if (state !== "refused" || !result) return job && result === `job ${job.id}` ? "" : result ?? "";
  const [code, ...why] = result.split(" ");
  return [refusals[code] ?? `answered ${code}`, why.join(" ").replaceAll("-", " ")].filter(Boolean).join(": ");
}
