// Who can be reached: how many devices an expression has, and whose a device is.

import { call } from "./api.js";
import { h, show } from "./dom.js";
import { chip, plural, serviceName } from "./format.js";
import { act, ask, button, empty, field, given, head, input, post, say, session } from "./page.js";
import { listing } from "./listing.js";
import { chipOf, linkOf, table, timeOf } from "./table.js";
import { audienceFields } from "./counting.js";

/** As what something is found that stands in the address then. A token never does: whoever has it can write to its device. */
const kinds = ["id", "user", "tag"];

export function open(main, { query, keep, signal }) {
  // Two questions share the page's address.
  const values = Object.fromEntries(["kind", "which", ...kinds].map((name) => [name, query.get(name) ?? ""]));
  const keepToo = (some) => keep(Object.assign(values, some));
  main.append(head("Audience"), counting({ query, keep: keepToo, signal }), finding({ query, keep: keepToo, signal }));
}

function counting({ query, keep, signal }) {
  const link = h("a", { class: "button quiet small", text: "Write to them" });
  let fields;
  const tell = (found) => {
    show(link, session.mayAct && found?.total > 0);
    if (!fields) return;
    link.href = `#/compose?${given(fields.typed())}`;
    if (found) keep(fields.typed());
  };
  fields = audienceFields([query.get("kind") ?? "tags", query.get("which") ?? ""], signal, tell);
  return h("section", { class: "card stack" }, h("h2", { text: "How many" }), fields.node, h("div", {}, link));
}

function finding({ query, keep, signal }) {
  const box = field("Token, id, user or tag", input({ "data-search": "", maxlength: "2048", value: query.get(kinds.find((kind) => query.has(kind))) ?? "" }),
    "Whole, as it was given: a token from a log, a registration's id, a user's name");
  const found = h("div", { id: "found", class: "stack" });
  let round = 0;
  // Asked in a body: a token in an address would be in the logs of proxies.
  const look = async (isWanted = () => true) => {
    const [what, mine] = [box.input.value.trim(), (round += 1)];
    if (!what) return found.replaceChildren();
    const answer = await post("registrations/find", { what });
    if (signal.aborted || mine !== round) return;
    const parts = answer.found.filter(isWanted);
    const again = () => look(isWanted);
    const sections = await Promise.all(parts.map((part) => shown(part, what, signal, again)));
    if (signal.aborted || mine !== round) return;
    if (parts.length === 0) sections.push(empty("Nothing found", "It is no device's token or id, and nobody's name or tag here. Each is compared whole, so paste all of it; a device that was removed or pruned has no token any more: look for its user."));
    found.replaceChildren(...sections);
    const known = parts.flatMap(({ by, items }) => (by !== "handle" ? [[by, what]] : items.length === 1 ? [["id", items[0].id]] : []));
    keep(Object.fromEntries([...kinds.map((kind) => [kind, ""]), ...known]));
  };
  const go = h("button", { id: "find", text: "Find" });
  const form = h("form", { class: "pair", role: "search", "aria-label": "Find a device", on: { submit: (event) => {
    event.preventDefault();
    act(go, () => look());
  } } }, box.node, h("div", { class: "field" }, h("span", { text: "\u00a0", "aria-hidden": "true" }), go));
  if (box.input.value) act(go, () => look(({ by }) => query.has(by)));
  return h("section", { class: "stack" }, h("div", { class: "card stack" }, h("h2", { text: "Find a device" }), form), found);
}

/** Those that were found as one kind, with how many they are and what can be done. */
async function shown({ by, items }, what, signal, again) {
  const list = table("Devices", ({ id }) => id, columns(again));
  const [first] = items;
  const section = (title, ...parts) => h("section", { class: "stack", data: { by } }, h("h2", { text: title }), parts);
  if (by === "handle" || by === "id") {
    list.show(items);
    return section(by === "id" ? `The device ${first.id}` : "The device with this token", links(first.user, first), h("p", { class: "quiet-text", text: plural(items.length, "device") }), list.node);
  }
  const all = listing({ list, path: "registrations", values: { [by]: what }, signal, nothing: ["No device is there any more", ""],
    counted: (count, isComplete) => (isComplete ? plural(count, "device") : `The first ${plural(count, "device")}; there are more.`) });
  await all.anew();
  return by === "user" ? section(`The devices of ${first.user}`, links(first.user), all.node) : section(`Devices with the tag ${what}`, all.node);
}

/** Where to go on from a device or its user. */
function links(user, device) {
  const link = (words, href) => h("a", { class: "button quiet small", href, text: words });
  const to = user ? ["user", user] : ["registrations", device.id];
  return h("div", { class: "line" }, device && user ? link(`All devices of ${user}`, `#/audience?${given({ user })}`) : null,
    session.mayAct ? link(user ? `Write to ${user}` : "Write to it", `#/compose?${given({ kind: to[0], which: to[1] })}`) : null,
    user ? link(`Sent by ${user}`, `#/sends?${given({ user })}`) : null,
    !device && session.mayAct ? button(`Remove ${user} and everything of theirs …`, "danger small", () => removeUser(user)) : null);
}

const columns = (again) => [
  ["Device", "head", ({ handle, service, id, credential }, row) => [row.handle ??= h("code", { text: handle ?? "–" }), [service && serviceName(service), id, credential].filter(Boolean).join(" · ")]],
  ["User", "long named", ({ user }, row) => (user ? linkOf(row, `#/audience?${given({ user })}`, user) : "–")],
  ["State", "long", ({ state, ended }, row) => [chipOf(row, state, state === "live" ? "good" : "quiet"), ended?.reason ?? ""]],
  ["Tags", "long", ({ tags }, row) => row.tags ??= h("div", { class: "tags" }, tags.slice(0, 12).map((tag) => chip(tag, "quiet")), tags.length > 12 ? `and ${tags.length - 12} more` : null)],
  ["Changed", "short", ({ updated }, row) => timeOf(row, updated)],
  ["", "number", ({ id, state }, row) => (session.mayAct && state === "live" ? row.remove ??= button("Remove …", "danger small", () => removeDevice(id, again), { about: `the device ${id}` }) : "")],
];

async function removeDevice(id, again) {
  const isDone = await ask({ title: "Remove this device?", words: "It gets nothing any more, until its app registers it again.", verb: "Remove it", isDangerous: true,
    work: () => call("DELETE", `registrations/${encodeURIComponent(id)}`, undefined, { Prefer: "wait=10" }) });
  if (!isDone) return;
  say("The device is removed.");
  await again();
}

/** A user who asks to be forgotten. */
async function removeUser(user) {
  const isDone = await ask({ title: `Remove ${user} and everything of theirs?`, words: "Devices, account, uploads, rich notifications and the texts of sends to nobody else go for good, and open sends to them are cancelled.",
    expected: user, verb: "Remove the user", isDangerous: true, work: () => call("DELETE", `users/${encodeURIComponent(user)}`) });
  if (isDone) say(`${user} is being removed.`);
}
