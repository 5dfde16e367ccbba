// Numbers, times and words, each written in one way everywhere.

import { h, put } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const parts = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const number = (value) => whole.format(value);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** A share in percent: what is not nothing is never shown as 0, and what is not all never as 100. */
export function percent(part, all) {
  if (!all) return "–";
  const value = (100 * part) / all;
  if (value === 0 || value === 100) return `${value} %`;
  return `${parts.format(Math.min(99.9, Math.max(0.1, value)))} %`;
}

export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? whole.format(value) : parts.format(value)} ${units[unit]}`;
}

/** A time of so many seconds, in its two largest units. */
export function duration(seconds) {
  const value = Math.max(0, Math.round(seconds));
  if (value < 60) return `${value} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${String(value % 60).padStart(2, "0")} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${String(Math.floor((value % 3600) / 60)).padStart(2, "0")} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor((value % 86400) / 3600)} h`;
}

/** How long ago, in its largest unit: for lists. */
function ago(date) {
  const value = Math.round((Date.now() - date) / 1000);
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => Math.abs(value) >= size) ?? [1, "s"];
  const words = `${Math.floor(Math.abs(value) / size)} ${unit}`;
  return value < 0 ? `in ${words}` : `${words} ago`;
}

export const moment = (text) => day.format(new Date(text));

/** A moment, as how long ago it was; the moment itself is its title. */
export function since(text) {
  return retime(h("time"), text);
}

/** Another moment in the same element. */
export function retime(element, text) {
  if (!text) return put(element, "–");
  if (element.dateTime !== text) {
    element.dateTime = text;
    element.title = moment(text);
  }
  return put(element, ago(new Date(text)));
}

// What is shown as "3 min ago" goes on without a question to the server.
setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[datetime]")) put(element, ago(new Date(element.dateTime)));
}, 1000);

export const services = { apns: "APNs", fcm: "FCM", wns: "WNS", mpns: "MPNS", web: "Web Push" };
export const serviceName = (name) => services[name] ?? name;

/** The end of a credential: in whole days, and how it is to be taken. */
export function ending(end, now) {
  const days = Math.floor((new Date(end) - new Date(now)) / 86400000);
  return { days, kind: days < 7 ? "bad" : "warn", words: days < 0 ? "has ended" : `ends in ${plural(days, "day")}`, on: moment(end) };
}

/** The states of a job: their words, and how they are to be taken. */
export const states = {
  scheduled: "quiet", queued: "quiet", running: "live", retrying: "warn", cancelling: "warn", expiring: "warn",
  completed: "good", abandoned: "bad", cancelled: "quiet", expired: "warn",
};

/** A state as a chip. */
export function chip(words, kind) {
  return rechip(h("span"), words, kind);
}

export function rechip(element, words, kind) {
  if (element.className !== `chip ${kind}`) element.className = `chip ${kind}`;
  return put(element, words);
}

/** To whom a send goes. */
export function audience(job) {
  if (job.recipients?.kind === "all") return "all devices";
  if (job.recipients) return `${plural(job.recipients.given ?? job.recipients.count ?? 0, "device")} of a list`;
  if (job.expression) return job.expression;
  if (!job.to) return "–";
  const first = job.to.slice(0, 3).map((tag) => tag.replace(/^username:/, "")).join(", ");
  const more = (job.toCount ?? job.to.length) - Math.min(3, job.to.length);
  return more > 0 ? `${first} and ${number(more)} more` : first;
}

/** The same in words, for a sentence. */
export function whom(job) {
  const { to, toCount, expression } = job;
  const at = job.services ? ` at ${job.services.map(serviceName).join(" and ")}` : "";
  if (expression) return `the devices that match ${expression}${at}`;
  if (!to) return audience(job) + at;
  const users = to.every((tag) => tag.startsWith("username:"));
  const isOne = (toCount ?? to.length) === 1;
  return `the devices ${users ? "of" : isOne ? "with the tag" : "with one of the tags"} ${audience(job)}${at}`;
}

export const failures = (counts) => Object.values(counts?.failed ?? {}).reduce((sum, count) => sum + count, 0);

/** Whether devices of a send are in no batch yet: still looked for, or, when it is over, never found. */
export const isPartial = (job) => job.fannedOut !== undefined;

/** How many devices it has, as far as they were found or can be estimated. */
export const found = (job) => Math.max(job.estimate ?? job.fannedOut ?? 0, job.totals?.targets ?? 0);

/** How many devices have their outcome. */
export const done = (counts) => (counts ? counts.accepted + failures(counts) + counts.expired + counts.cancelled : 0);
