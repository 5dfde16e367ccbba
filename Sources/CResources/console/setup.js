// The app as it is declared: its services, credentials and limits, and how workers fare with them. It is read here, and changed by its file; what
// is done here is pausing all of its sends at once.

import { h, put, show } from "./dom.js";
import { ending, moment, number, plural } from "./format.js";
import { act, ask, button, copyable, empty, facts, faultLine, get, head, poll, post, reason, say, section, session } from "./page.js";
import { isOwn } from "./queues.js";
import { who } from "./audit.js";
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
  const pausing = pauses();
  main.append(head("App", pausing.button), fault, pausing.node, section("Credentials", list.node, none),
    h("div", { class: "halves" }, h("section", { class: "card" }, h("h2", { text: "As it is declared" }), declared.node),
      h("section", { class: "card stack" }, h("h2", { text: "To change it" }), h("p", { text: "Change its file, and apply it on the server's host. Workers take a new credential without a restart." }), copyable("pushline apps apply FILE").node)));
  show(none, false);
  show(list.node, false);
  poll(signal, 2, look, (error) => put(fault, reason(error)));

  async function look() {
    const [app, now] = await Promise.all([get("app"), get("overview")]);
    if (signal.aborted) return;
    const credentials = app.services.flatMap(({ service, credentials }) => credentials.map((credential) => ({ service, ...credential, ...known(now, service, credential.name) })));
    list.show(credentials);
    show(list.node, credentials.length > 0);
    show(none, credentials.length === 0);
    declared.show(lines(app));
    pausing.show(now);
    restore();
  }
}

/**
 * All sends of the app, paused and resumed at once: that is its own pause of each queue but the one of registrations, as the page Queues has
 * them one by one.
 */
function pauses() {
  const [words, queues] = [h("span"), h("a", { href: "#/queues", text: "See the queues" })];
  const node = h("p", { class: "line" }, words, queues);
  const toggle = button("", "quiet", (element) => (open().length > 0 ? pause() : resume(element)), { id: "pause-all" });
  let [all, sends, isKnownUntil] = [[], {}, 0];
  const open = () => all.filter((queue) => !isOwn(queue));
  const look = async () => tell((await get("queues")).items);
  const each = async (isMeant, verb) => {
    // An overview may be from before somebody else paused or resumed one.
    await look();
    try {
      // One that is paused for all apps stays so, which is no fault of resuming it.
      await Promise.all(all.filter(isMeant).map(({ name }) => post(`queues/${name}/${verb}`).catch((error) => { if (error.status !== 409) throw error; })));
    } finally {
      isKnownUntil = Date.now() + 4000;
      await look();
    }
  };
  for (const part of [node, toggle]) show(part, false);

  async function pause() {
    const { items = [], isComplete } = sends;
    const isDone = await ask({ title: "Pause all sends of this app?", verb: "Pause all sends", work: () => each((queue) => !isOwn(queue), "pause"),
      words: ["No device gets anything from this app until somebody resumes it. What is sent is accepted and waits, and what is only good for a time may expire. Batches that are at a service now are finished. Devices go on being registered.",
        `It takes effect within two seconds, and holds over restarts. ${items.length > 0 ? `${isComplete ? "" : "At least "}${plural(items.length, "send")} ${items.length === 1 ? "is" : "are"} under way or scheduled now.` : "No send is under way now."}`] });
    if (isDone) say("All sends of this app are paused.");
  }

  async function resume(element) {
    if (!await act(element, () => each(isOwn, "resume"))) return;
    const stopped = all.filter(({ paused }) => paused).map(({ name }) => name);
    say(stopped.length > 0 ? `This app has paused nothing any more. For all apps paused: ${stopped.join(", ")}.` : "The sends of this app are resumed.", stopped.length > 0 ? "warn" : "good");
  }

  function tell(queues) {
    all = queues.filter(({ name }) => name !== "register");
    const paused = all.filter(isOwn);
    const [first] = paused.flatMap((queue) => queue.pauses.filter(({ allApps }) => !allApps)).sort((one, other) => (one.since < other.since ? -1 : 1));
    show(node, paused.length > 0);
    if (first) put(words, `${open().length === 0 ? "All sends of this app are paused" : `${number(paused.length)} of ${number(all.length)} queues of sends are paused`}, by ${first.by ? who(first.by) : "somebody"} since ${moment(first.since)}.`);
    put(toggle, open().length > 0 ? "Pause all sends …" : "Resume all sends");
    show(toggle, session.mayAct);
  }

  return { node, button: toggle, show(now) {
    sends = now.sends;
    if (Date.now() > isKnownUntil) tell(now.queues);
  } };
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
