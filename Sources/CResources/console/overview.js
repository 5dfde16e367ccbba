// What goes on, and what is wrong: the first page.

import { url } from "./api.js";
import { h, put, rows, show } from "./dom.js";
import { audience, bytes, done, duration, failures, found, number, percent, plural, serviceName, states } from "./format.js";
import { copyable, empty, get, head, poll, session } from "./page.js";
import { History, figure, spark } from "./charts.js";
import { barOf, chipOf, linkOf, restore, table } from "./table.js";
import { roleName, trouble } from "./trouble.js";

/** The last minute is kept while other pages are open. */
const minute = new History();

const sum = (values) => Object.values(values ?? {}).reduce((sum, value) => sum + value, 0);

export function open(main, { signal }) {
  const at = h("p", { text: "Asking …" });
  const alerts = h("ul", { class: "alerts" });
  const tell = rows(alerts, ({ key }) => key, makeAlert);
  const numbers = figures();
  const sends = sendTable();
  const queues = queueTable();
  const processes = processTable();
  main.append(head("Overview", at), h("section", { "aria-label": "What needs attention" }, alerts), numbers.node, sends.node, queues.node, processes.node);
  poll(signal, 2, async () => {
    const now = await get("overview");
    if (signal.aborted) return;
    put(at, `${new Date(now.at).toLocaleTimeString("en-GB")} on the server`);
    tell(trouble(now));
    for (const part of [numbers, sends, queues, processes]) part.show(now);
    restore();
  });
}

const processStates = { running: ["running", "good"], gone: ["gone", "bad"], unknown: ["not known", "quiet"] };

function makeAlert() {
  const [what, why, link] = [h("strong"), h("span"), h("a")];
  const row = h("li", {}, what, why, link);
  return { row, update(entry) {
    row.className = entry.kind;
    put(what, entry.what);
    put(why, entry.why);
    show(link, entry.place !== undefined);
    if (entry.place) link.href = `#/${entry.place}`;
    put(link, entry.todo);
  } };
}

function figures() {
  const rate = figure("Devices a second", "card large");
  const line = spark("Devices a second", "devices a second");
  rate.node.append(line.node);
  const [underWay, waiting, dead, space] = ["Sends under way", "Waiting in queues", "Dead letters", "Free disk"].map((name) => figure(name, "card"));
  const node = h("section", { class: "cards", "aria-label": "Numbers" }, rate.node, underWay.node, waiting.node, dead.node, space.node);
  return { node, show(now) {
    const total = sum(now.rate);
    minute.add(total);
    line.show(minute);
    rate.show(number(total), Object.entries(now.rate ?? {}).filter(([, value]) => value > 0).map(([name, value]) => `${serviceName(name)} ${number(value)}`).join(" · ") || "nothing goes out");
    const count = now.sends.items.length;
    const open = now.sends.items.reduce((sum, job) => sum + Math.max(0, found(job) - done(job.totals)), 0);
    underWay.show(now.sends.isComplete ? number(count) : `at least ${number(count)}`, open > 0 ? `${plural(open, "device")} to go` : "");
    const oldest = Math.max(0, ...now.queues.map(({ oldestSeconds = 0 }) => oldestSeconds));
    waiting.show(number(now.queues.reduce((sum, { waiting }) => sum + waiting, 0)), oldest > 0 ? `the oldest for ${duration(oldest)}` : "");
    dead.show(`${number(now.dead.count)}${now.dead.isComplete ? "" : "+"}`, now.dead.count > 0 ? "wait for a decision" : "none");
    show(space.node, now.space);
    if (now.space) space.show(bytes(now.space.free), now.space.store === undefined ? "" : `the store has ${bytes(now.space.store)}`);
  } };
}

function titled(title, link, ...content) {
  return h("section", { class: "stack" }, h("div", { class: "head" }, h("h2", { text: title }), link && h("a", { href: link[0], text: link[1] })), content);
}

function sendTable() {
  const list = table("Sends under way", ({ id }) => id, [
    ["Send", "head", (job, row) => [linkOf(row, `#/sends/${job.id}`, job.label ?? audience(job)), job.label ? audience(job) : ""]],
    ["State", "long", ({ state, reason }, row) => [chipOf(row, state, states[state]), reason ?? ""]],
    ["Progress", "bar-cell", (job, row) => barOf(row, job.label ?? audience(job), job.progress)],
    ["Done", "number", ({ totals }) => number(done(totals))],
    ["Failed", "number", ({ totals }) => percent(failures(totals), totals?.targets)],
    ["Left", "number", ({ secondsLeft }) => (secondsLeft === undefined ? "–" : duration(secondsLeft))],
  ]);
  const command = copyable(`curl -u ${session.user} ${url("sends")} \\\n  -H 'Content-Type: application/json' -d '{"to": {"user": "ann"}, "body": "Hello"}'`);
  const none = empty("Nothing is being sent", "A backend sends with one request; by hand it goes on the page Compose.", h("a", { href: "#/compose", text: "Compose a message" }), command.node);
  const more = h("p", { class: "more" }, h("a", { href: "#/sends?state=unfinished", text: "All sends under way" }));
  list.node.append(more);
  show(list.node, false);
  show(none, false);
  return { node: titled("Sends under way", ["#/sends", "All sends"], list.node, none), show({ sends }) {
    list.show(sends.items);
    show(list.node, sends.items.length > 0);
    show(none, sends.items.length === 0);
    show(more, !sends.isComplete);
  } };
}

const queueState = (isPaused, delayed) => (isPaused ? ["paused", "warn"] : delayed ? ["tries again", "warn"] : ["open", "quiet"]);

function queueTable() {
  const list = table("Queues", ({ name }) => name, [
    ["Queue", "head", ({ name }) => name],
    ["Waiting", "number", ({ waiting }) => number(waiting)],
    ["Oldest", "number", ({ oldestSeconds }) => (oldestSeconds ? duration(oldestSeconds) : "–")],
    ["State", "long", ({ paused, delayed }, row) => [chipOf(row, ...queueState(paused, delayed)), delayed && !paused ? `for ${duration(delayed.seconds)}: ${delayed.reason}` : ""]],
  ]);
  return { node: titled("Queues", ["#/queues", session.mayAct ? "Pause or resume" : "More about them"], list.node), show: ({ queues }) => list.show(queues) };
}

function processTable() {
  const list = table("Processes", ({ id }) => id, [
    ["Process", "head", ({ role, host, pid }) => [roleName(role), `${host}, process ${pid}`]],
    ["State", "short", ({ state }, row) => chipOf(row, ...(processStates[state] ?? [state, "quiet"]))],
    ["Heard", "number", ({ silentSeconds }) => (silentSeconds < 10 ? "now" : `${duration(silentSeconds)} ago`)],
    ["In work", "number", ({ inHand }) => (inHand === undefined ? "–" : number(inHand))],
    ["Memory", "number", ({ memory }) => (memory === undefined ? "–" : bytes(memory))],
    ["Port", "number", ({ port }) => port ?? "–"],
    ["Version", "short", ({ version }) => version],
  ]);
  const note = h("p", { class: "quiet-text" });
  return { node: titled("Processes", null, list.node, note), show({ broker, processes: { items, isComplete } }) {
    list.show(items);
    show(list.node, items.length > 0);
    put(note, isComplete ? "" : broker === "connected" ? "Processes are heard every five seconds; there may be more." : "Processes report by way of the broker: while it is away, nothing is known of them.");
    show(note, !isComplete);
  } };
}
