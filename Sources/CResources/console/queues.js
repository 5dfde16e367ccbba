// The queues with the app's work in them: how full, how old, and pausing.

import { h, put, show } from "./dom.js";
import { duration, number, plural, serviceName, since } from "./format.js";
import { act, ask, button, copyable, faultLine, get, head, poll, post, say, section, session } from "./page.js";
import { chipOf, restore, table } from "./table.js";

/** What the work of a queue is, and where it waits while the queue is paused. */
function about(name) {
  if (name === "register") return ["changes of registrations", "Devices that register are accepted, and registered when it is resumed."];
  if (name === "send") return ["finding the devices of sends", "Sends are accepted, and look for their devices when it is resumed."];
  return [`pushes to ${serviceName(name.replace("deliver.", ""))}`, "Batches that are at the service now are finished; all others wait."];
}

export const isOwn = (queue) => queue.pauses.some(({ allApps }) => !allApps);
const count = (value) => (value === undefined ? "–" : number(value));

export function open(main, { signal }) {
  const fault = faultLine();
  const list = table("Queues", ({ name }) => name, [
    ["Queue", "head", ({ name }) => [name, about(name)[0]]],
    ["State", "long", (queue, row) => [chipOf(row, queue.paused ? "paused" : "open", queue.paused ? "warn" : "good"), pauses(queue, row)]],
    ["Waiting", "number", ({ waiting }) => number(waiting)],
    ["Open", "number", ({ open }) => count(open)],
    ["Deferred", "number", ({ deferred }) => count(deferred)],
    ["Oldest", "number", ({ oldestSeconds }) => (oldestSeconds ? duration(oldestSeconds) : "–")],
    ["", "number", (queue, row) => (session.mayAct ? action(queue, row) : "")],
  ]);
  const command = copyable("");
  const host = section("Paused for all apps", h("p", { text: "Who runs the server has paused it for every app, and resumes it on the server's host:" }), command.node);
  show(host, false);
  main.append(head("Queues"), h("p", { class: "quiet-text", text: "A send finds its devices (send), and its batches go to each service (deliver). A paused queue keeps its work: nothing is lost, and what is only good for a time may expire." }), fault, list.node, host);

  async function look() {
    const { items, brokerFault } = await get("queues");
    if (signal.aborted) return;
    list.show(items);
    restore();
    put(fault, brokerFault ? `The broker takes no messages: ${brokerFault}` : "");
    const stopped = items.filter(({ pauses }) => pauses.some(({ allApps }) => allApps)).map(({ name }) => name);
    show(host, stopped.length > 0);
    command.put(stopped.map((name) => `pushline queues resume ${name} --all-apps`).join("\n"));
  }

  function pauses(queue, row) {
    row.pauses ??= h("span");
    if (row.told === JSON.stringify(queue.pauses)) return row.pauses;
    row.told = JSON.stringify(queue.pauses);
    row.pauses.replaceChildren(...queue.pauses.flatMap((pause, index) => [index > 0 ? ", " : "", pause.allApps ? "for all apps, " : `by ${pause.by ?? "somebody"}, `, since(pause.since)]));
    return row.pauses;
  }

  function action(queue, row) {
    row.button ??= button("", "quiet small", (element) => (isOwn(row.item) ? resume(row.item.name, element) : pause(row.item)));
    row.button.setAttribute("aria-label", `${isOwn(queue) ? "Resume" : "Pause"} ${queue.name}`);
    return put(row.button, isOwn(queue) ? "Resume" : "Pause …");
  }

  async function resume(name, element) {
    const isDone = await act(element, () => post(`queues/${name}/resume`).finally(look));
    if (isDone) say(`${name} is resumed.`);
  }

  async function pause({ name, waiting }) {
    const isDone = await ask({
      title: `Pause ${name}?`, verb: "Pause it", work: () => post(`queues/${name}/pause`).finally(look),
      words: [about(name)[1], "It takes effect within two seconds, and holds until somebody resumes it, over restarts too.", waiting > 0 ? `${plural(waiting, "piece")} of work ${waiting === 1 ? "waits" : "wait"} in it now.` : ""],
    });
    if (isDone) say(`${name} is paused. What comes for it waits.`);
  }

  poll(signal, 2, look);
}
