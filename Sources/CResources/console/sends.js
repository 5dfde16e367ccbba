// The list of sends: its filters stand in the address, its rows stay where they are, and what is new waits until it is asked for.

import { call } from "./api.js";
import { h, put, show } from "./dom.js";
import { audience, failures, number, percent, plural, services, states } from "./format.js";
import { act, ask, button, empty, faultLine, filters, given, head, input, piece, poll, post, reason, say, select, session } from "./page.js";
import { barOf, chipOf, linkOf, restore, table, timeOf } from "./table.js";

const size = 50;

const stateChoices = [["", "every state"], ["unfinished", "under way"], ...Object.keys(states).map((state) => [state, state])];

const names = ["label", "state", "failures", "user", "key", "service"];

const chosenKey = "pushline.console.chosen";

const named = (job) => job.label ?? audience(job);

export function open(main, view) {
  new Sends(main, view);
}

class Sends {
  constructor(main, { query, keep, signal }) {
    Object.assign(this, { keep, signal, shown: [], held: [], cursor: null, round: 0 });
    this.values = Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""]));
    this.chosen = new Set(JSON.parse(sessionStorage.getItem(chosenKey) ?? "[]"));
    this.draw(main);
    poll(signal, 5, () => this.look(), (error) => this.refused(error));
  }

  draw(main) {
    this.list = table("Sends", ({ id }) => id, [
      ["", "pick", (job, row) => this.box(job, row)],
      ["Send", "head", (job, row) => [linkOf(row, `#/sends/${job.id}`, named(job)), [job.label && audience(job), job.dryRun && "dry run"].filter(Boolean).join(" · ")]],
      ["Who", "long named", ({ key, user }) => key ?? user ?? "–"],
      ["State", "long", ({ state, reason }, row) => [chipOf(row, state, states[state]), reason ?? ""]],
      ["Progress", "bar-cell", (job, row) => barOf(row, named(job), job.progress ?? 0, job.isFinal)],
      ["Devices", "number", ({ totals }) => number(totals?.targets ?? 0)],
      ["Failed", "number", ({ totals }, row) => {
        row.failed ??= h("span");
        row.failed.className = failures(totals) > 0 ? "bad" : "";
        return [put(row.failed, percent(failures(totals), totals?.targets)), totals?.expired > 0 ? `${number(totals.expired)} expired` : ""];
      }],
      ["Accepted", "short", ({ accepted }, row) => timeOf(row, accepted)],
    ]);
    this.fresh = button("", "fresh", () => this.takeFresh());
    this.list.node.prepend(this.fresh);
    this.more = button("Older ones", "quiet small", (element) => act(element, () => this.older()));
    this.list.node.append(h("div", { class: "more" }, this.more));
    this.none = h("div");
    this.fault = faultLine();
    this.cancelChosen = button("", "danger small", () => this.endChosen());
    this.cancelAll = button("Cancel all that match …", "danger small", () => this.endAll(), { id: "cancel-all" });
    main.append(
      head("Sends", this.cancelChosen, this.cancelAll, session.mayAct ? h("a", { class: "button small", href: "#/compose", text: "Compose" }) : null),
      filters(this.values, [
        ["label", "Label", input({ "data-search": "", placeholder: "as it was given" })], ["state", "State", select(stateChoices)],
        ["failures", "Outcome", select([["", "with and without failures"], ["true", "with failures"]])],
        ["user", "Account", input()], ["key", "Key", input()], ["service", "Service", select([["", "every service"], ...Object.entries(services)])],
      ], () => this.filter()),
      this.fault, this.list.node, this.none, h("p", { class: "hint", text: "Keys: j and k go down and up, Enter opens, x chooses, / goes to the filter." }));
    for (const part of [this.list.node, this.fresh]) show(part, false);
    this.update();
  }

  box({ isFinal, id }, row) {
    if (!row.box) {
      row.box = h("input", { type: "checkbox", "aria-label": `Choose ${named(row.item)}` });
      row.box.checked = this.chosen.has(id);
      row.box.addEventListener("change", () => {
        if (row.box.checked) this.chosen.add(id);
        else this.chosen.delete(id);
        this.update();
      });
      row.pick = h("label", { class: "check" }, row.box);
    }
    row.box.disabled = isFinal || !session.mayAct;
    return row.pick;
  }

  /** The API is asked for it. */
  ask(more = {}) {
    const { state, ...others } = this.values;
    return piece("jobs", { kind: "send", limit: size, ...others, ...(state === "unfinished" ? { unfinished: true } : { state }), ...more });
  }

  filter() {
    this.keep(this.values);
    Object.assign(this, { shown: [], held: [], cursor: null });
    this.chosen.clear();
    this.look().catch((error) => this.refused(error));
  }

  refused(error) {
    put(this.fault, reason(error));
    this.shown = [];
    this.render();
    show(this.none, false);
  }

  /** The newest ones: those that are shown change in their places, and others wait. */
  async look() {
    const round = (this.round += 1);
    const { items, cursor } = await this.ask();
    // Another question was asked meanwhile.
    if (round !== this.round || this.signal.aborted) return;
    put(this.fault, "");
    const isFirst = this.shown.length === 0;
    if (isFirst) Object.assign(this, { shown: items, held: [], cursor });
    else this.merge(items, cursor);
    this.render();
    restore();
  }

  /** In the order of the answers, for ids that were made at the same moment may have another. */
  merge(items, cursor) {
    const found = new Map(items.map((job) => [job.id, job]));
    const at = new Map(this.shown.map(({ id }, index) => [id, index]));
    const first = items.findIndex(({ id }) => at.has(id));
    const newest = [...at.keys()].sort().at(-1);
    const isNew = ({ id }, index) => (first < 0 ? id > newest : index < first);
    this.held = items.filter(isNew);
    // What lies within the answer and is not in it matches no more; what the reader is at stays where it is.
    const reach = cursor ? Math.max(-1, ...items.map(({ id }) => at.get(id) ?? -1)) : Infinity;
    const stays = ({ id }, index) => found.has(id) || index > reach || this.chosen.has(id) || this.row(id)?.contains(document.activeElement);
    this.shown = this.shown.filter(stays).map((job) => found.get(job.id) ?? job);
    // What matches again stands behind what the answer has before it.
    for (const [index, job] of items.entries()) {
      if (isNew(job, index) || at.has(job.id)) continue;
      const before = this.shown.findIndex(({ id }) => id === items[index - 1]?.id);
      this.shown.splice(before + 1, 0, job);
    }
  }

  takeFresh() {
    this.shown = [...this.held, ...this.shown];
    this.held = [];
    this.render();
    this.list.body.querySelector("a")?.focus();
  }

  async older() {
    const { items, cursor } = await this.ask({ cursor: this.cursor });
    const known = new Set(this.shown.map(({ id }) => id));
    this.shown.push(...items.filter(({ id }) => !known.has(id)));
    this.cursor = cursor;
    this.render();
  }

  render() {
    this.list.show(this.shown);
    show(this.list.node, this.shown.length > 0);
    show(this.fresh, this.held.length > 0);
    put(this.fresh, this.held.length > 0 ? `${this.held.length === size ? "Many" : this.held.length} new: show` : "");
    show(this.more.parentElement, this.cursor);
    if (this.shown.length === 0) {
      this.none.replaceChildren(names.some((name) => this.values[name])
        ? empty("No send matches", "Change or empty the filters above. A label, an account and a key are compared whole.")
        : empty("Nothing was sent yet", "A backend sends with POST /api/sends, as docs/api.md shows; by hand it goes on the page Compose.", h("a", { href: "#/compose", text: "Compose the first message" })));
    }
    show(this.none, this.shown.length === 0);
    this.update();
  }

  /** The buttons for what is chosen and for all that match. */
  update() {
    sessionStorage.setItem(chosenKey, JSON.stringify([...this.chosen]));
    const open = this.shown.filter(({ id, isFinal }) => this.chosen.has(id) && !isFinal).length;
    show(this.cancelChosen, session.mayAct && open > 0);
    put(this.cancelChosen, `Cancel ${plural(open, "chosen send")}`);
    const { label, user, key, state, service, failures } = this.values;
    show(this.cancelAll, session.mayAct && !service && !failures && (label || user || key || (state && state !== "unfinished")) && this.shown.some(({ isFinal }) => !isFinal));
  }

  row(id) {
    return this.list.body.querySelector(`tr[data-key="${id}"]`);
  }

  /** It is shown as what it becomes at once; the next look tells what it is. */
  become(id, job) {
    this.shown = this.shown.map((old) => (old.id === id ? job ?? { ...old, state: "cancelling" } : old));
    this.chosen.delete(id);
    const box = this.row(id)?.querySelector("input");
    if (box) box.checked = false;
  }

  async endChosen() {
    const jobs = this.shown.filter(({ id, isFinal }) => this.chosen.has(id) && !isFinal);
    const isDone = await ask({
      title: `Cancel ${plural(jobs.length, "send")}?`, words: "What is on its way to a device arrives; the rest is not sent, and cannot be taken up again.",
      count: jobs.length, verb: "Cancel them", isDangerous: true,
      work: async (tell) => {
        for (const [index, { id }] of jobs.entries()) {
          tell(`${index} of ${jobs.length} …`);
          try {
            this.become(id, await (await call("DELETE", `jobs/${id}`)).json());
          } catch (error) {
            // It has ended by itself meanwhile.
            if (error.status !== 409) throw error;
          }
        }
      },
    });
    this.render();
    if (isDone) say(`${plural(jobs.length, "send")} cancelled.`);
  }

  /** All that match, not those of a page alone: up to the newest that is shown, so that none is ended which nobody has seen. */
  async endAll() {
    const { label, user, key, state } = this.values;
    const about = [...given({ label, user, key, state: state === "unfinished" ? "" : state })];
    const cancel = (more = {}) => post("jobs/cancel", { ...Object.fromEntries(about), upTo: this.shown[0].id, ...more });
    let found;
    if (!await act(this.cancelAll, async () => { found = await cancel({ dryRun: true }); })) return;
    const count = found.matched;
    if (count === 0) return say("No send that matches is under way any more.");
    let ended = 0;
    const isDone = await ask({
      title: `Cancel ${found.isComplete ? "" : "at least "}${plural(count, "send")}?`,
      words: [`All that match (${about.map((pair) => pair.join(" ")).join(", ")}) and are under way. Those made later stay.`,
        "What is on its way to a device arrives; the rest is not sent, and cannot be taken up again."],
      count, verb: `Cancel ${plural(count, "send")}`, isDangerous: true,
      work: async (tell) => {
        for (;;) {
          const { cancelled, left } = await cancel();
          ended += cancelled;
          if (left === 0 || cancelled === 0) return;
          tell(`${number(ended)} cancelled …`);
        }
      },
    });
    if (!isDone) return;
    say(`${plural(ended, "send")} cancelled.`);
    await this.look();
  }
}
