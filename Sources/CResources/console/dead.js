// Dead letters: work that could not be done, by what was wrong; all of one kind are replayed at once.

import { call } from "./api.js";
import { h, put, show } from "./dom.js";
import { number, plural } from "./format.js";
import { act, ask, button, empty, get, head, piece, poll, post, reason, say, session } from "./page.js";
import { linkOf, restore, table, timeOf } from "./table.js";

/** Replaying more than so many asks first: devices get what may be hours old. */
const many = 1000;

export function open(main, { query, signal }) {
  let upTo;
  const job = query.get("job");
  const note = h("p", { class: "quiet-text" });
  const none = empty("No dead letters", "Work that fails again and again, or that no worker can read, would stand here and wait for a decision. Nothing does.");
  const letters = h("section", { class: "stack", id: "letters" });
  const list = table("Dead letters by queue and reason", ({ queue, type, reason }) => JSON.stringify([queue, type, reason]), [
    ["Reason", "head", ({ reason, type }) => [reason, `kind ${type}`]],
    ["Queue", "short named", ({ queue }) => queue],
    ["Letters", "number", ({ count, replayable }) => [number(count), replayable < count ? `${number(count - replayable)} cannot be replayed` : ""]],
    ["Newest", "short", ({ newest }, row) => timeOf(row, newest)],
    ["", "number", actions],
  ]);
  main.append(head("Dead letters"), h("p", { class: "quiet-text", text: "Fix the cause first, then replay: the work is done once more. Discarding removes them for good; what was counted for them stays." }), note, list.node, none, letters);
  show(none, false);
  show(list.node, false);
  poll(signal, 5, look);
  if (job) showLetters({ job }).catch((error) => say(reason(error), "bad"));

  async function look() {
    const found = await get("dead/groups");
    if (signal.aborted) return;
    upTo = found.upTo;
    list.show(found.items);
    show(list.node, found.items.length > 0);
    show(none, found.items.length === 0);
    put(note, found.isComplete ? "" : "There are more than were looked at: each number is at least that.");
    restore();
  }

  function actions({ reason, replayable }, row) {
    const about = `letters: ${reason}`;
    row.actions ??= h("div", { class: "actions" },
      button("Show", "quiet small", (element) => act(element, () => showLetters(row.item)), { about }),
      session.mayAct ? [row.replay = button("Replay all", "small", (element) => replay(row.item, element), { about }), button("Discard …", "danger small", () => discard(row.item), { about })] : null);
    if (row.replay && !row.replay.hasAttribute("aria-busy")) row.replay.disabled = replayable === 0;
    return row.actions;
  }

  /** Those that the page shows: what arrives while somebody reads is not of them. */
  const filter = ({ queue, type, reason }) => ({ queue, type, reason, upTo });

  async function replay(group, element) {
    const body = filter(group);
    let [replayed, refused, first] = [0, 0, ""];
    const work = async (tell) => {
      for (let after; ;) {
        const answer = await post("dead/replay", { ...body, after });
        replayed += answer.replayed;
        refused += answer.refused;
        first ||= answer.refusals?.[0]?.reason ?? "";
        if (answer.left === 0 || answer.next === undefined) return;
        after = answer.next;
        tell(`${number(replayed)} replayed …`);
      }
    };
    const isDone = group.count > many
      ? await ask({ title: `Replay ${plural(group.count, "dead letter")}?`, words: "Their devices get what may be hours old by now.", count: group.count, typed: 10 * many, verb: "Replay them", work })
      : await act(element, () => work((words) => put(element, words)));
    put(element, "Replay all");
    if (isDone) say(`${plural(replayed, "letter")} replayed${refused ? `; ${number(refused)} refused, and still here: ${first}` : ""}.`, refused ? "warn" : "good");
    letters.replaceChildren();
    await look();
  }

  async function discard(group) {
    const body = filter(group);
    let discarded = 0;
    const isDone = await ask({
      title: `Discard ${plural(group.count, "dead letter")}?`, words: "They are gone for good, and their work is not done. What was counted for them stays.",
      count: group.count, verb: `Discard ${plural(group.count, "letter")}`, isDangerous: true,
      work: async (tell) => {
        for (let after; ;) {
          const answer = await post("dead/discard", { ...body, after });
          discarded += answer.discarded;
          after = answer.next;
          if (answer.left === 0 || after === undefined) return;
          tell(`${number(discarded)} discarded …`);
        }
      },
    });
    if (!isDone) return;
    say(`${plural(discarded, "letter")} discarded.`);
    letters.replaceChildren();
    await look();
  }

  /** The newest letters of a kind, or of a send, one by one. */
  async function showLetters(group) {
    const { queue, type, reason, job } = group;
    const { items } = await piece("dead", { queue, type, reason, job, limit: 100 });
    if (signal.aborted) return;
    const one = table("Letters", ({ id }) => id, [
      ["Letter", "head", ({ id, bytes, blockedReason }) => [`No. ${id}`, blockedReason ?? `${number(bytes)} bytes`]],
      ["Reason", "long", ({ reason }) => reason],
      ["Of the send", "long named", ({ job }, row) => (job ? linkOf(row, `#/sends/${job}`, job) : "–")],
      ["When", "short", ({ at }, row) => timeOf(row, at)],
      ["", "number", ({ id, canReplay }, row) => (session.mayAct ? row.actions ??= letterActions(id, canReplay, group) : "")],
    ]);
    one.show(items);
    const title = h("h2", { tabindex: "-1", text: job ? `Of the send ${job}` : `The newest with “${reason}”` });
    const back = job && h("a", { href: `#/sends/${job}`, text: "← The send" });
    const hide = button("Hide", "quiet small", () => letters.replaceChildren());
    const content = items.length > 0 ? one.node : empty("No dead letter is left here", "They were replayed or discarded since they were counted.");
    letters.replaceChildren(h("div", { class: "head" }, title, h("div", { class: "line" }, back, hide)), content);
    title.focus();
  }

  function letterActions(id, canReplay, group) {
    const replay = button("Replay", "quiet small", async (element) => {
      if (!await act(element, () => call("POST", `dead/${id}/replay`))) return;
      say(`Letter ${id}: replayed.`);
      await Promise.all([showLetters(group), look()]);
    }, { about: `letter ${id}` });
    replay.disabled = !canReplay;
    const discard = button("Discard …", "danger small", async () => {
      const isDone = await ask({
        title: `Discard dead letter ${id}?`, words: "It is gone for good, and its work is not done. What was counted for it stays.", verb: "Discard it", isDangerous: true,
        work: () => call("DELETE", `dead/${id}`),
      });
      if (!isDone) return;
      say(`Letter ${id}: discarded.`);
      await Promise.all([showLetters(group), look()]);
    }, { about: `letter ${id}` });
    return h("div", { class: "actions" }, replay, discard);
  }
}
