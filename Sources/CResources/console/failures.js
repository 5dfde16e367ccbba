// What failed of a send, and why: its failures with the words of the push services, what expired, why it was abandoned, its dead letters.

import { h, put, rows, show } from "./dom.js";
import { failures, moment, number, plural } from "./format.js";
import { get } from "./page.js";
import { deviceLink } from "./devices.js";
import { linkOf, serviceOf, table, timeOf } from "./table.js";

const nothing = { items: [], isComplete: true, looked: 0 };

/** `tell` is told each state of the job; `look` asks why, where something has failed since it was asked last: of a send that is over, once. */
export function failuresOf(id) {
  const place = encodeURIComponent(id);
  const [list, letters] = [failureTable(), letterTable(place)];
  const note = h("p", { class: "quiet-text", text: "Nothing has failed." });
  const end = h("p");
  let [asked, found, dead] = ["", nothing, []];
  for (const { node } of [list, letters]) show(node, false);

  function tell(job) {
    const items = [...(failures(job.totals) > 0 ? found.items : []), ...expired(job)];
    list.show(items);
    show(list.node, items.length > 0);
    letters.show(dead);
    show(letters.node, dead.length > 0);
    put(end, ending(job));
    put(note, remark(job, items));
  }

  /** What stands beside the lists, or in their place. */
  function remark(job, items) {
    if (!found.isComplete) return `The counts are exact; the reasons are those of the ${number(found.looked)} devices that were looked at.`;
    if (items.length > 0 || end.textContent) return "";
    if (failures(job.totals) > 0) return "Asking why …";
    return job.state === "retrying" && job.reason ? `Nothing has failed for good, and it is tried again: ${job.reason}` : "Nothing has failed.";
  }

  async function look(job, signal) {
    const now = JSON.stringify([job.totals.failed, job.state === "abandoned"]);
    if (now === asked) return;
    const hasLetters = job.state === "abandoned" || job.totals.failed?.dead > 0;
    const [why, { items }] = await Promise.all([failures(job.totals) > 0 ? get(`jobs/${place}/failures`) : nothing, hasLetters ? get(`dead?job=${place}&limit=20`) : nothing]);
    if (signal.aborted) return;
    [found, dead] = [why, items];
    // What the server has counted for others may be some seconds old: then it is asked again.
    if (why.items.reduce((sum, { count }) => sum + count, 0) >= failures(job.totals)) asked = now;
    tell(job);
  }

  return { node: h("div", { class: "stack", id: "failures" }, end, note, list.node, letters.node), tell, look };
}

/** Devices whose time was over, as failures are shown. */
function expired({ counts }) {
  return Object.entries(counts ?? {}).filter(([, { expired }]) => expired > 0)
    .map(([service, { expired }]) => ({ service, outcome: "expired", count: expired, reasons: [{ reason: "the time of the send was over before their turn came", count: expired }] }));
}

/** Why a send ended otherwise than it was meant to. */
function ending({ state, reason, expires, totals }) {
  if (state === "abandoned") return `It was abandoned, and no device got it: ${reason ?? "no reason was kept"}.`;
  if (!["expired", "expiring"].includes(state)) return "";
  return `Its time was over on ${moment(expires)}, ${totals.expired > 0 ? `before ${plural(totals.expired, "device")} had a turn` : "before it had found its devices"}. What was not sent by then is not sent any more.`;
}

function failureTable() {
  return table("Failures", ({ service, outcome }) => `${service} ${outcome}`, [
    ["Service", "head", ({ service }, row) => serviceOf(row, service)],
    ["Outcome", "short", ({ outcome }) => outcome],
    ["Devices", "number", ({ count }) => number(count)],
    ["Reasons, most frequent first", "long", ({ reasons }, row) => {
      row.reasons ??= h("ul");
      row.tell ??= rows(row.reasons, ({ reason, status }) => `${reason} ${status}`, makeReason);
      row.tell(reasons);
      return row.reasons;
    }],
  ]);
}

/** A reason, how often, and a device that has it. */
function makeReason({ reason, status, example }) {
  const count = h("strong");
  const row = h("li", {}, count, ` ${reason ?? "without a reason"}${status ? ` (${status})` : ""}`,
    example ? h("span", { class: "under" }, "such as ", example.registration ? h("a", { href: deviceLink(example.registration), text: example.user ?? example.registration }) : `place ${example.place} of the list`) : null);
  return { row, update: (now) => put(count, number(now.count)) };
}

/** The work of it that no worker could do; each leads to where it can be replayed. */
function letterTable(job) {
  return table("Dead letters of this send", ({ id }) => id, [
    ["Dead letter", "head", ({ id }, row) => linkOf(row, `#/dead?job=${job}`, `No. ${id}`)],
    ["Reason", "long", ({ reason }) => reason],
    ["When", "short", ({ at }, row) => timeOf(row, at)],
    ["Replay", "long", ({ canReplay, blockedReason }) => (canReplay ? "it can be replayed" : blockedReason)],
  ]);
}
