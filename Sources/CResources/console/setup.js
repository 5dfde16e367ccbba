// The app as it is declared: its services, credentials and limits, and how workers fare with them. It is read here, and changed by its file.

import { h, put, show } from "./dom.js";
import { ending, moment, number } from "./format.js";
import { copyable, empty, facts, faultLine, get, head, poll, reason, section } from "./page.js";
import { chipOf, linkOf, restore, serviceOf, table } from "./table.js";

export function open(main, { signal }) {
  const fault = faultLine();
  const list = table("Credentials", ({ service, name }) => `${service} ${name}`, [
    ["Credential", "head", ({ service, name }, row) => [serviceOf(row, service), name]],
    ["State", "long", stateOf],
    ["Topic or endpoint", "long", ({ topic, endpoint }) => [topic, endpoint].filter(Boolean).join(" · ") || "–"],
    ["Limit", "number", ({ devicesPerSecond }) => (devicesPerSecond ? `${number(devicesPerSecond)} a second` : "–")],
    ["", "short", ({ service }, row) => linkOf(row, `#/sends?state=unfinished&service=${service}`, "Its sends")],
  ]);
  const none = empty("No push service is declared", "The app has no credentials, so nothing can be sent. Declare them in its file:", copyable("pushline apps apply FILE").node);
  const declared = facts();
  main.append(head("App"), fault, section("Credentials", list.node, none),
    h("div", { class: "halves" }, h("section", { class: "card" }, h("h2", { text: "As it is declared" }), declared.node),
      h("section", { class: "card stack" }, h("h2", { text: "To change it" }), h("p", { text: "Change its file, and apply it on the server's host. Workers take a new credential without a restart." }), copyable("pushline apps apply FILE").node)));
  show(none, false);
  show(list.node, false);
  poll(signal, 2, async () => {
    const [app, now] = await Promise.all([get("app"), get("overview")]);
    if (signal.aborted) return;
    const credentials = app.services.flatMap(({ service, credentials }) => credentials.map((credential) => ({ service, ...credential, ...known(now, service, credential.name) })));
    list.show(credentials);
    show(list.node, credentials.length > 0);
    show(none, credentials.length === 0);
    declared.show(lines(app));
    restore();
  }, (error) => put(fault, reason(error)));
}

/** What the processes that use a credential say of it: since when it is refused, and what of it ends first. */
function known({ at, processes }, service, name) {
  const said = (list) => processes.items.flatMap((process) => process[list]);
  const others = `${service}.credentials.`;
  const isOfIt = ({ setting }) => (name === "default" ? setting.startsWith(`${service}.`) && !setting.startsWith(others) : setting.startsWith(`${others}${name}.`));
  const [refusal] = said("refusals").filter((refusal) => refusal.service === service && (refusal.credential ?? "default") === name).sort((one, other) => (one.since < other.since ? -1 : 1));
  const [end] = said("credentials").filter(isOfIt).map(({ end }) => ending(end, at)).sort((one, other) => one.days - other.days);
  return { refusal, end };
}

function stateOf({ refusal, end }, row) {
  if (refusal) return [chipOf(row, `refused since ${moment(refusal.since)}`, "bad"), [refusal.reason, end?.words].filter(Boolean).join(" · ")];
  if (end) return [chipOf(row, end.words, end.kind), `on ${end.on}: replace it before`];
  return ["–", ""];
}

/** What else its file says, as it says it. */
function lines({ name, hub, declaration = {} }) {
  const words = (value) => (Array.isArray(value) ? value.map(words).join(", ") : value !== null && typeof value === "object" ? Object.entries(value).map(([key, inner]) => `${key}: ${words(inner)}`).join(", ") : String(value));
  return [["Name", name], ["Hub", hub], ...Object.entries(declaration).map(([key, value]) => [key, words(value)])];
}
