// One send while it goes out: how far, how fast, what fails and why, and its devices.

import { call, url, watch } from "./api.js";
import { h, put, show } from "./dom.js";
import { audience, done, duration, failures, found, isPartial, moment, number, percent, plural, rechip, states, whom } from "./format.js";
import { ask, button, copyable, ended, facts, get, head, poll, reason, say, section, session, speak } from "./page.js";
import { History, figure, outcomes, progress, spark } from "./charts.js";
import { serviceOf, table } from "./table.js";
import { draft, phones } from "./message.js";
import { devices } from "./devices.js";
import { failuresOf } from "./failures.js";
import { later, loss, stoppedBy, today } from "./stopping.js";

export function open(main, { id, signal }) {
  new Send(main, id, signal);
}

class Send {
  constructor(main, id, signal) {
    Object.assign(this, { id, signal, job: null, minute: new History(), spoken: -1, path: `jobs/${encodeURIComponent(id)}` });
    this.draw(main);
    watch(id, (job, error) => (signal.aborted ? null : job ? this.tell(job) : this.refused(error)));
    // The line of the last minute goes on while nothing is told.
    poll(signal, 1, async () => { if (this.job && !this.job.isFinal) this.tick(); });
    this.message();
    poll(signal, 5, async () => {
      if (this.job?.totals) await this.failed.look(this.job, signal);
    });
  }

  draw(main) {
    this.cancel = button("Cancel …", "danger", () => this.end(), { id: "cancel" });
    this.again = button("Send again …", "quiet", () => {
      draft.write({ ...this.content, to: this.recipients(), label: this.job.label });
      location.hash = "#/compose";
    });
    for (const element of [this.cancel, this.again]) show(element, false);
    this.head = head("Send", this.again, this.cancel);
    this.title = this.head.querySelector("h1");
    this.state = h("span", { id: "state" });
    this.why = h("span", { class: "quiet-text" });
    this.head.firstChild.after(h("p", { class: "line" }, this.state, this.why));
    this.bar = outcomes("tall");
    this.progress = progress("Progress of this send");
    this.progress.node.className = "spoken";
    [this.count, this.rate, this.left, this.wrong] = ["Devices done", "Devices a second", "Time left", "Failed"].map((name) => figure(name));
    this.count.value.id = "done";
    this.line = spark("Devices a second", "devices a second");
    this.services = serviceTable();
    this.facts = facts();
    this.failed = failuresOf(this.id);
    this.phones = phones();
    this.messageNote = h("p", { class: "quiet-text", text: "Asking …" });
    this.elsewhere = this.commands();
    this.devices = devices(this.path, this.signal, () => this.job);
    main.append(
      h("p", {}, h("a", { href: "#/sends", text: "← Sends" })), this.head,
      h("section", { class: "card stack", "aria-label": "Progress" }, this.bar.node, this.progress.node,
        h("div", { class: "cards" }, this.count.node, this.rate.node, this.left.node, this.wrong.node), this.line.node),
      section("By service", this.services.node), section("What failed, and why", this.failed.node),
      section("The message", this.messageNote, this.phones.node),
      h("div", { class: "halves" }, h("section", { class: "card" }, h("h2", { text: "About it" }), this.facts.node), this.elsewhere.node), this.devices.node);
  }

  /** Each state of the job, from its events or a look. */
  tell(job) {
    this.job = job;
    const totals = job.totals;
    if (!totals) return this.refused(new Error("it is a change of a registration, and no send"));
    put(this.title, this.name());
    rechip(this.state, job.state, states[job.state]);
    if (job.state === "scheduled") this.countToday(job);
    if (["cancelling", "cancelled"].includes(job.state)) this.findWho(job);
    this.tellWhy(job);
    this.bar.show(totals, isPartial(job) && job.estimate === undefined ? Infinity : found(job));
    this.progress.show(job.progress ?? 0);
    this.count.show(number(done(totals)), this.whole(job));
    this.wrong.show(number(failures(totals)), `${done(totals) > 0 ? `${percent(failures(totals), done(totals))} of those done` : ""}${totals.expired ? ` · ${number(totals.expired)} expired` : ""}${totals.cancelled ? ` · ${number(totals.cancelled)} cancelled` : ""}`);
    if (job.state !== "scheduled") this.left.show(job.isFinal || job.secondsLeft === undefined ? "–" : duration(job.secondsLeft), job.isFinal && job.finished ? (job.state === "cancelled" && !job.started ? "it never started" : `took ${this.took(job)}`) : "at the slowest service");
    this.services.show(Object.entries(job.counts ?? {}));
    const hasFailed = failures(totals) > 0 && !this.hasFailures;
    this.hasFailures = failures(totals) > 0;
    show(this.cancel, session.mayAct && !job.isFinal && !["cancelling", "expiring"].includes(job.state));
    show(this.again, session.mayAct && this.content);
    this.elsewhere.show();
    this.tellFacts(job);
    this.tick();
    this.announce(job);
    this.failed.tell(job);
    if (job.isFinal || hasFailed) Promise.all([this.failed.look(job, this.signal), this.devices.anew()]).catch((error) => say(reason(error), "bad"));
  }

  /** Of how many devices, in words. */
  whole(job) {
    const all = found(job);
    if (isPartial(job) && job.estimate === undefined && all > 0) return `of ${number(all)} found${job.isFinal ? "; the others were never looked for" : " so far; others are looked for"}`;
    if (all > 0) return `of ${isPartial(job) ? "about " : ""}${number(all)}`;
    return job.isFinal ? "no device has it" : job.state === "scheduled" ? this.today : "looking for devices";
  }

  took(job) {
    const seconds = (new Date(job.finished) - new Date(job.started ?? job.accepted)) / 1000;
    return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds);
  }

  tick() {
    const rate = this.job.isFinal ? 0 : this.job.rate ?? 0;
    this.minute.add(rate);
    this.line.show(this.minute);
    this.rate.show(number(rate), this.job.isFinal ? "it is over" : rate === 0 ? this.job.reason ?? "" : "");
    if (this.job.state === "scheduled") this.left.show(duration((new Date(this.job.at) - Date.now()) / 1000), "until it starts");
  }

  /** What it is called: by its label, by its title, or by whom it is for. */
  name() {
    return this.job.label ?? this.content?.title ?? audience(this.job);
  }

  /** Beside its state: what it waits for, or who has ended it. */
  tellWhy(job) {
    put(this.why, [job.dryRun && "Dry run: no device gets it.", job.state === "scheduled" && `Starts on ${moment(job.at)}.`, this.stopped, job.reason].filter(Boolean).join(" "));
  }

  /** How many devices it would have today is asked once: whom it goes to is looked for when it starts. */
  async countToday(job) {
    if (this.today) return;
    this.today = later;
    this.today = await today(job, this.recipients());
    if (!this.signal.aborted && this.job.state === "scheduled") this.tell(this.job);
  }

  /** Who has cancelled it is asked when that is so, and where it is not known then, at its end. */
  async findWho(job) {
    if (this.stopped || this.askedWho === job.state) return;
    this.askedWho = job.state;
    this.stopped = await stoppedBy(job);
    if (!this.signal.aborted) this.tellWhy(this.job);
  }

  /** Speaks at each quarter, and at the end. */
  announce({ progress = 0, isFinal, state, totals }) {
    const quarter = isFinal ? 5 : Math.floor(progress * 4);
    if (quarter === this.spoken) return;
    const isFirst = this.spoken < 0;
    this.spoken = quarter;
    const end = `The send is ${state}: ${number(totals.accepted)} accepted, ${number(failures(totals))} failed.`;
    if (isFinal && this.isStopping) say(end);
    else if (isFinal) speak(end);
    else if (!isFirst) speak(`${quarter * 25} percent`);
  }

  refused(error) {
    if (error.status === 401) return ended.tell();
    rechip(this.state, "not there", "quiet");
    put(this.why, error.status === 404 ? "There is no such send; it may be so old that it was removed." : reason(error));
  }

  async message() {
    try {
      const found = await get(`${this.path}/message`);
      if (this.signal.aborted) return;
      put(this.messageNote, found.emptied ? "Its text is gone: a user to whom it was sent was removed." : "");
      show(this.messageNote, found.emptied);
      if (found.emptied) return;
      this.content = found.message;
      this.phones.show(found, found.message);
      if (this.job) put(this.title, this.name());
      show(this.again, session.mayAct && this.job);
      this.elsewhere.show();
    } catch (error) {
      if (error.status === 401) ended.tell();
      put(this.messageNote, error.status === 404 ? "The server shows no message of it." : reason(error));
    }
  }

  /** To whom it went, as a new send says it; a list of devices is not kept. */
  recipients() {
    const { recipients, expression, to } = this.job;
    if (recipients?.kind === "all") return { all: true };
    if (recipients) return null;
    return expression ? { tags: expression } : to?.length === 1 ? { tag: to[0] } : { tags: to };
  }

  commands() {
    const watching = copyable(`pushline job ${this.id} --watch`);
    const looking = copyable(`curl -u ${session.user} ${url(this.path)}`);
    const sending = copyable("");
    show(sending.node, false);
    const node = h("section", { class: "card stack" }, h("h2", { text: "Elsewhere" }), h("p", { class: "quiet-text", text: "The same on a command line: to watch it, to ask for it, to send it again." }), watching.node, looking.node, sending.node);
    return { node, show: () => {
      if (!this.content || !this.job) return;
      const body = JSON.stringify({ to: this.recipients() ?? undefined, ...this.content });
      sending.put(`curl -u ${session.user} ${url("sends")} -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'`);
      show(sending.node, true);
    } };
  }

  tellFacts(job) {
    this.facts.show([
      ["Id", job.id], ["To", whom(job)], ["Label", job.label], ["Sent by", job.key ? `the key ${job.key}` : job.user], ["Priority", job.priority],
      ["Accepted", moment(job.accepted)], ["Started", job.started && moment(job.started)], ["Finished", job.finished && moment(job.finished)],
      ["Scheduled for", job.at && moment(job.at)], ["Next try", !job.isFinal && job.due && moment(job.due)], ["Of use until", moment(job.expires)],
    ]);
  }

  async end() {
    const { open, words } = loss(this.job, this.today);
    const isDone = await ask({
      title: `Cancel “${this.name()}”?`, words, count: open, typed: 100_000, verb: "Cancel the send", isDangerous: true,
      work: async () => this.tell(await (await call("DELETE", this.path)).json()),
    });
    this.isStopping = isDone;
    if (isDone && !this.job.isFinal) say("The send is being cancelled.");
    else if (isDone) say("The send is cancelled.");
  }
}

function serviceTable() {
  const value = (words, tell) => [words, "number", ([, counts]) => number(tell(counts))];
  return table("Devices by service", ([name]) => name, [
    ["Service", "head", ([name], row) => serviceOf(row, name)],
    ["Outcomes", "bar-cell", ([, counts], row) => {
      row.bar ??= outcomes();
      row.bar.show(counts);
      return row.bar.node;
    }],
    value("Targets", ({ targets }) => targets), value("Accepted", ({ accepted }) => accepted), value("Failed", failures), value("Expired", ({ expired }) => expired),
    value("Cancelled", ({ cancelled }) => cancelled), value("Open", ({ open }) => open),
  ]);
}
