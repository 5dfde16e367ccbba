// Before a send is cancelled: what that would lose. Behind it: who has done it.

import { post, ended, get, given } from "./page.js";
import { done, found, isPartial, moment, number, plural, whom } from "./format.js";
import { common, who } from "./audit.js";

/** What is known of how many devices a scheduled send has before they are counted. */
export const later = "counted when it starts";

/**
 * How many devices a scheduled send would have now, in words. `to` is whom it is for, as a new send would say it: where that is more than the
 * job tells, or the count is slow, only its start will show.
 */
export async function today({ expression, to: tags, toCount, services }, to) {
  if (!to || expression?.endsWith("…") || (toCount ?? tags?.length) !== tags?.length) return later;
  try {
    const { total, isComplete } = await post("sends/count", { to, services });
    return `${isComplete ? "" : "at least "}${plural(total, "device")} today`;
  } catch (error) {
    if (error.status === 401) ended.tell();
    return later;
  }
}

/** What is lost by cancelling it, as far as that is known: the words, and how many devices, or null. */
export function loss(job, count) {
  const whole = found(job);
  const open = Math.max(0, whole - done(job.totals));
  const to = `It goes to ${whom(job)}`;
  const end = "It cannot be taken up again.";
  if (job.state === "scheduled") return { open: null, words: [`${to}: ${count}.`, `It starts on ${moment(job.at)}. If it is cancelled now, no device gets it. ${end}`] };
  if (whole === 0) return { open: null, words: [`${to}. It has not found its devices yet, so how many would not get it is not known. ${end}`] };
  if (isPartial(job) && job.estimate === undefined) return { open, words: [`${to}.`, `It has found ${plural(whole, "device")} so far: ${open === 0 ? "each of them has its outcome" : `about ${number(open)} of them would not get it`}, and none of those that it has not found yet would. What is on its way arrives. ${end}`] };
  return { open, words: [`${to}.`, `${open === 0 ? "All devices that it has found so far have their outcome." : `About ${plural(open, "device")} would not get it. What is on its way arrives.`} ${end}`] };
}

/** Who has cancelled it, and when, by the audit; empty where that is not known yet. */
export async function stoppedBy({ id, key, user, finished }) {
  try {
    const { items } = await get(`audit?${given({ action: "job.cancel", job: id, limit: 20 })}`);
    const act = items.find(({ state }) => state !== "refused");
    const matched = common(act?.target);
    if (act) return `Cancelled by ${act.by.startsWith("key:") ? "the key " : ""}${who(act.by)} on ${moment(act.at)}${matched === null ? "" : `, with all that matched${matched ? ` (${matched})` : ""}`}.`;
    const sender = key ? `the key ${key}` : user;
    return finished ? `Cancelled on ${moment(finished)}: by no operator, so by who sent it${sender ? ` (${sender})` : ""}, or with the removal of a user.` : "";
  } catch (error) {
    if (error.status === 401) ended.tell();
    return "";
  }
}
