// The devices of a send that are listed one by one, and their list to take along.

import { h, put } from "./dom.js";
import { number, serviceName, services } from "./format.js";
import { act, button, filters, get, given, say, select } from "./page.js";
import { listing } from "./listing.js";
import { linkOf, table, timeOf } from "./table.js";

const outcomes = ["accepted", "unregistered", "rejected", "misconfigured", "retired-service", "deregistered", "dead", "unknown"];

export const deviceLink = (id) => `#/audience?id=${encodeURIComponent(id)}`;

const key = ({ notification, service, registration, place }) => `${notification} ${service} ${registration ?? place}`;

/** `path` is the job's. `anew` asks for the first of them again. */
export function devices(path, signal, job) {
  const values = { outcome: "", service: "" };
  const list = table("Devices", key, [
    ["Device", "head", (item, row) => [item.registration ? linkOf(row, deviceLink(item.registration), item.registration) : item.place ? `place ${number(item.place)} of the list` : "–", `${serviceName(item.service)}${item.reference ? ` · ${item.reference}` : ""}`]],
    ["User", "long named", ({ user }) => user ?? "–"],
    ["Outcome", "short", ({ outcome }) => outcome],
    ["Reason", "long", ({ reason, status }) => [reason, status && `(${status})`].filter(Boolean).join(" ") || "–"],
    ["When", "short", ({ at }, row) => timeOf(row, at)],
  ]);
  const shown = listing({ list, path: `${path}/deliveries`, values, signal, key, limit: 20,
    nothing: ["No device is listed", "Those that failed are listed, and all of them where the app records all."], noMatch: ["No device of this kind is listed", "Choose another outcome or service."] });
  const words = "Download as NDJSON";
  const download = button(words, "quiet small", (element) => act(element, async () => {
    const lines = [];
    let [cursor, count] = [undefined, 0];
    do {
      const piece = await get(`${path}/deliveries?${given({ ...values, limit: 1000, cursor })}`);
      // In pieces: a million lines as one text would be too much for a page.
      lines.push(new Blob([piece.items.map((item) => `${JSON.stringify(item)}\n`).join("")]));
      cursor = piece.cursor;
      count += piece.items.length;
      put(element, `${number(count)} …`);
    } while (cursor && !signal.aborted);
    save(new Blob(lines, { type: "application/x-ndjson" }), `${job()?.label ?? "send"}-devices.ndjson`);
    say(`${number(count)} lines are in your downloads.`);
  }).finally(() => put(element, words)), { id: "download" });
  const choice = (choices) => select([["", "all"], ...choices]);
  const node = h("section", { class: "stack", id: "devices" }, h("div", { class: "head" }, h("h2", { text: "Its devices" }), download),
    filters(values, [["outcome", "Outcome", choice(outcomes.map((value) => [value, value]))], ["service", "Service", choice(Object.entries(services))]], () => shown.anew()), shown.node);
  shown.anew();
  return { node, anew: shown.anew };
}

function save(blob, name) {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name.replace(/[^\w.-]+/g, "-") }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
