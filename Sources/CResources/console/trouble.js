// What somebody should look at, of all that an overview says: "nothing" only where everything was looked at and found well.

import { bytes, duration, ending, moment, number, plural, serviceName } from "./format.js";

/** Without one of each, work waits. */
const needed = ["register-worker", "send-worker", "delivery-worker"];

export const roleName = (role) => (role === "api" ? "API" : role.replaceAll("-", " "));

/** In seconds: work that is tried again for so long is held up; a queue that moves nothing for so long is stuck; what is so old is late. */
const [held, stuck, late] = [60, 120, 600];

/** A queue in words: what it is for. */
const aim = (name) => (name.startsWith("deliver.") ? `Sends to ${serviceName(name.slice(8))}` : name === "send" ? "New sends" : "Changes of registrations");

/** The worst first; each says what is wrong, why, and where something can be done. `kind` is how it is to be taken, `key` tells it from others. */
export function trouble(now) {
  const list = [...broker(now), ...pauses(now), ...services(now), ...queues(now), ...processes(now), ...work(now)];
  const unique = [...new Map(list.map((entry) => [entry.key, entry])).values()];
  unique.sort((one, other) => (one.kind === other.kind ? 0 : one.kind === "bad" ? -1 : 1));
  return unique.length > 0 ? unique : [well(now)];
}

function well({ processes, space }) {
  if (!processes.isComplete) return { kind: "live", key: "well", what: "Nothing is known that needs you", why: "Which processes run is not known: they report every five seconds, and not all have been heard yet." };
  const room = space ? ", and there is room on the disk" : "";
  return { kind: "good", key: "well", what: "Nothing needs you", why: `Each kind of worker runs, no queue is paused, stuck or held up, no push service fails, no send has expired or was abandoned since yesterday, no letter is dead${room}.` };
}

function broker({ broker, brokerFault }) {
  const rest = "What is accepted waits in the store, and goes out when it is back.";
  if (brokerFault) return [{ kind: "bad", key: "broker", what: "The broker takes no messages", why: `${brokerFault}. ${rest}` }];
  return broker === "connected" ? [] : [{ kind: "warn", key: "broker", what: "There is no connection to the broker", why: rest }];
}

const waits = ({ waiting = 0, deferred = 0 }) => (waiting + deferred > 0 ? `, and ${plural(waiting + deferred, "piece")} of work ${waiting + deferred === 1 ? "waits" : "wait"}` : "");

/** All sends of the app, as its page pauses and resumes them at once. */
function pausedWhole(now) {
  const sends = now.queues.filter(({ name }) => name !== "register");
  const own = sends.map(({ pauses }) => pauses.find(({ allApps }) => !allApps));
  if (own.length === 0 || own.includes(undefined)) return null;
  const [{ by, since }] = own.sort((one, other) => (one.since < other.since ? -1 : 1));
  const sum = (name) => sends.reduce((sum, queue) => sum + (queue[name] ?? 0), 0);
  return { kind: "warn", key: "pause", what: "All sends of this app are paused", why: `by ${by ?? "somebody"}, for ${ago(now, since)}${waits({ waiting: sum("waiting"), deferred: sum("deferred") })}`, place: "app", todo: "resume them" };
}

const ago = (now, since) => duration((new Date(now.at) - new Date(since)) / 1000);

function pauses(now) {
  const whole = pausedWhole(now);
  const each = now.queues.flatMap((queue) => queue.pauses.map(({ allApps, by, since }) => ({
    kind: "warn", key: `pause ${queue.name} ${allApps}`, what: `${queue.name} is paused`,
    why: `${allApps ? "for all apps" : `by ${by ?? "somebody"}`}, for ${ago(now, since)}${waits(queue)}`, place: "queues", todo: "queues",
    isOfWhole: whole && !allApps && queue.name !== "register",
  })));
  return [...(whole ? [whole] : []), ...each.filter(({ isOfWhole }) => !isOfWhole)];
}

/** What the oldest work of a queue has waited, tried or not. */
const age = (queue) => Math.max(queue?.oldestSeconds ?? 0, queue?.delayed?.seconds ?? 0);

/** Of the queues, those that a push service is said of already. */
const failing = (now) => new Set(now.processes.items.flatMap(({ breakers, refusals }) => [...breakers, ...refusals]).map(({ service }) => `deliver.${service}`));

function services(now) {
  const { items } = now.processes;
  const oldest = (service) => {
    const seconds = age(now.queues.find(({ name }) => name === `deliver.${service}`));
    return seconds > 0 ? `, the oldest for ${duration(seconds)}` : "";
  };
  const refused = items.flatMap(({ refusals }) => refusals).map(({ service, credential, reason, since }) => ({
    kind: "bad", key: `service ${service} ${credential ?? ""}`, what: `${serviceName(service)} refuses ${credential ? `the credential ${credential}` : "the app's credential"}`,
    why: `Since ${moment(since)}: ${reason}. What is to go there waits${oldest(service)}.`, place: "app", todo: "credentials",
  }));
  // Where its credential is refused that alone is said: the breaker is open for it.
  const said = new Set(refused.map(({ key }) => key));
  const open = items.flatMap(({ breakers }) => breakers).map(({ service, credential, reason }) => ({
    kind: "bad", key: `service ${service} ${credential ?? ""}`, what: `Nothing is being sent to ${serviceName(service)}`,
    why: `${reason}. It is tried again by itself; what is to go there waits${oldest(service)}.`, place: `sends?state=unfinished&service=${service}`, todo: "its sends",
  }));
  return [...refused, ...open.filter(({ key }) => !said.has(key))];
}

function queues(now) {
  const said = failing(now);
  // A send waits for a service that is paused before it goes on to find devices.
  if (now.queues.some(({ name, paused }) => paused && name.startsWith("deliver."))) said.add("send");
  return now.queues.filter(({ name, paused }) => !paused && !said.has(name)).map((queue) => heldUp(queue) ?? behind(queue, now)).filter(Boolean);
}

/** Its work was tried, and is tried again. */
function heldUp(queue) {
  if (!queue.delayed || age(queue) < held) return null;
  const [, service] = queue.name.split(".");
  return {
    kind: age(queue) < late ? "warn" : "bad", key: `queue ${queue.name}`, what: `${aim(queue.name)} are held up`,
    why: `${queue.delayed.reason}. It is tried again by itself; in the queue ${queue.name} the oldest work has waited ${duration(age(queue))}.`,
    place: service ? `sends?state=unfinished&service=${service}` : "sends?state=unfinished", todo: "sends under way",
  };
}

/** Its work was not tried for long: nothing moves, or less than comes. */
function behind(queue, now) {
  const { name, oldestSeconds = 0 } = queue;
  const rates = now.rate ?? {};
  const rate = name.startsWith("deliver.") ? rates[name.slice(8)] ?? 0 : name === "send" ? Object.values(rates).reduce((sum, value) => sum + value, 0) : 0;
  if (oldestSeconds < (rate > 0 ? late : stuck)) return null;
  const entry = { key: `queue ${name}`, place: "queues", todo: "queues" };
  const oldest = `In the queue ${name} the oldest work has waited ${duration(oldestSeconds)}`;
  if (rate > 0) return { ...entry, kind: "warn", what: `${aim(name)} are slow`, why: `${oldest}, while ${number(rate)} devices a second get theirs.` };
  return { ...entry, kind: oldestSeconds < late ? "warn" : "bad", what: `${aim(name)} are not getting through`, why: `${oldest}. Its workers are away, too few, or held up.` };
}

function processes(now) {
  const { items, isComplete } = now.processes;
  const none = needed.filter((role) => isComplete && !items.some((process) => process.role === role && process.state === "running"));
  return [
    ...none.map((role) => ({ kind: "bad", key: `none ${role}`, what: `No ${roleName(role)} is running`, why: "Its work waits in the store until one is started." })),
    ...items.filter(({ state }) => state === "gone").map(({ id, role, host, pid, silentSeconds }) => ({
      kind: "warn", key: `gone ${id}`, what: `A process is gone: ${roleName(role)}`,
      why: `${host}, process ${pid}: nothing was heard of it for ${duration(silentSeconds)}. It was ended, or does not reach the broker.`,
    })),
    ...items.flatMap(({ credentials }) => credentials).map(({ setting, end }) => {
      const { kind, words, on } = ending(end, new Date(now.at));
      return { kind, key: `end ${setting}`, what: `${setting} ${words}`, why: `On ${on}. Replace it before: what it is for fails then.` };
    }),
  ];
}

/** What did not get to its devices, and what is short. */
function work({ dead, ended, space }) {
  const list = [];
  if (ended.abandoned > 0) list.push({ kind: "warn", key: "abandoned", what: `${plural(ended.abandoned, "send")} abandoned`, why: `In the last 24 hours: nobody got ${ended.abandoned === 1 ? "it, and it says" : "them, and each says"} why.`, place: "sends?state=abandoned", todo: "all abandoned sends" });
  if (ended.expired > 0) list.push({ kind: "warn", key: "expired", what: `${plural(ended.expired, "send")} expired`, why: `In the last 24 hours: the time was over before all devices had their turn.`, place: "sends?state=expired", todo: "all expired sends" });
  if (dead.count > 0) list.push({ kind: "warn", key: "dead", what: `${dead.isComplete ? "" : "At least "}${plural(dead.count, "dead letter")}`, why: "Work that could not be done, and waits for somebody to decide.", place: "dead", todo: "dead letters" });
  if (space && space.free < 2e9) list.push({ kind: "bad", key: "space", what: `${bytes(space.free)} of disk left`, why: "Near the end, new work is refused." });
  return list;
}
