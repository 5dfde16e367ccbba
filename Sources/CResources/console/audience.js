// Who can be reached: how many devices an expression has, and whose a device is.

import { call } from "./api.js";
import { h, show } from "./dom.js";
import { chip, number, serviceName } from "./format.js";
import { act, ask, button, empty, field, get, given, head, input, say, select, session } from "./page.js";
import { listing } from "./listing.js";
import { chipOf, table, timeOf } from "./table.js";
import { audienceFields } from "./counting.js";

export function open(main, view) {
  main.append(head("Audience"), counting(view), finding(view));
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

const ways = [["user", "User", "ann"], ["tag", "Tag", "early-birds"], ["id", "Id of a registration", "phone-17"], ["handle", "Token or other handle", "pasted whole"]];

function finding({ query, signal }) {
  const way = field("By", select(ways, ways.find(([name]) => query.has(name))?.[0] ?? "user"));
  const what = field("What", input({ "data-search": "", maxlength: "2048", value: query.get(way.input.value) ?? "" }));
  const found = h("div", { id: "found", class: "stack" });
  const hint = () => { what.input.placeholder = ways.find(([name]) => name === way.input.value)[2]; };
  const look = async () => {
    const [kind, value] = [way.input.value, what.input.value.trim()];
    if (!value) return;
    const again = () => look();
    const list = table("Devices", ({ id }) => id, columns(again));
    const parts = [];
    if (kind === "id") {
      const item = await get(`registrations/${encodeURIComponent(value)}`).catch((error) => (error.status === 404 ? null : Promise.reject(error)));
      list.show(item ? [item] : []);
      parts.push(item ? list.node : empty("No device has this id", "Ids are compared whole."));
    } else {
      const shown = listing({ list, path: "registrations", values: { [kind]: value }, signal,
        nothing: ["No device is found", ""], noMatch: ["No device is found", kind === "handle" ? "A token is compared whole: paste all of it. A device that was removed has none any more." : "Names and tags are compared whole."] });
      await shown.anew();
      parts.push(shown.node);
      if (kind === "user" && session.mayAct) parts.push(h("p", {}, button(`Remove ${value} with all there is …`, "danger small", () => removeUser(value))));
    }
    found.replaceChildren(...parts);
  };
  const form = h("form", { class: "pair", role: "search", "aria-label": "Find a device", on: { submit: (event) => {
    event.preventDefault();
    act(go, look);
  } } }, way.node, what.node);
  const go = h("button", { id: "find", text: "Find" });
  form.append(h("div", { class: "field" }, h("span", { text: "\u00a0", "aria-hidden": "true" }), go));
  way.input.addEventListener("change", hint);
  hint();
  if (what.input.value) act(go, look);
  return h("section", { class: "stack" }, h("div", { class: "card stack" }, h("h2", { text: "Whose device is it" }), form), found);
}

const columns = (again) => [
  ["Device", "head", ({ handle, service, id, credential }, row) => [row.handle ??= h("code", { text: handle ?? "–" }), [service && serviceName(service), id, credential].filter(Boolean).join(" · ")]],
  ["User", "long named", ({ user }) => user ?? "–"],
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
  const isDone = await ask({ title: `Remove ${user} with all there is?`, words: "Devices, account, uploads, rich notifications and the texts of sends to nobody else go for good, and open sends to them are cancelled.",
    expected: user, verb: "Remove the user", isDangerous: true, work: () => call("DELETE", `users/${encodeURIComponent(user)}`) });
  if (isDone) say(`${user} is being removed.`);
}
