// A message: written, seen as devices show it, counted, and sent once.

import { call } from "./api.js";
import { h, put } from "./dom.js";
import { moment, plural, services } from "./format.js";
import { act, ask, button, ended, field, head, input, post, reason, say, select, session } from "./page.js";
import { audienceFields, recipients, settle, typed } from "./counting.js";
import { draft, isRefused, phones } from "./message.js";

/** Above so many devices the number is typed. */
const many = 1000;

/** The members that have a field of their own; others are JSON. */
const texts = ["title", "body", "link", "image", "label", "collapse"];

/** What a message has to have one of, for there to be something to show. */
const contents = ["title", "body", "data", "native", "badge", "titleLocKey", "bodyLocKey", "liveActivity", "wns"];

export function open(main, view) {
  new Compose(main, view);
}

class Compose {
  constructor(main, { query, signal }) {
    Object.assign(this, { signal, counted: null, preview: null, fault: "", isSending: false });
    const message = draft.read() ?? {};
    if (query.has("kind")) message.to = recipients(query.get("kind"), query.get("which") ?? "");
    this.draw(main, message);
    this.change();
  }

  draw(main, message) {
    const { to, title, body, link, image, label, collapse, ttl, priority, at, dryRun, services: chosen, ...others } = message;
    this.fields = {
      title: field("Title", input({ autocapitalize: "sentences", spellcheck: "true", value: title ?? "" })),
      body: field("Text", h("textarea", { rows: "4", value: body ?? "" })),
      link: field("Opens", input({ type: "url", value: link ?? "", placeholder: "https://…" })),
      image: field("Picture", input({ type: "url", value: image ?? "", placeholder: "https://…" })),
      label: field("Label", input({ value: label ?? "", maxlength: "100" }), "Your own name for it; sends are listed by it"),
      collapse: field("Replaces", input({ value: collapse ?? "", maxlength: "64" }), "An undelivered one with the same key is replaced"),
      ttl: field("Of use for", input({ type: "number", min: "0", max: "2419200", value: ttl ?? "" }), "Seconds; 0 is one try, empty as the app has it"),
      priority: field("Priority", select([["", "normal"], ["high", "high"]], priority === "high" ? "high" : "")),
      at: field("Goes out at", input({ type: "datetime-local", value: at ? local(at) : "" }), "In this browser's time; empty is at once"),
      others: field("Other members", h("textarea", { rows: "4", class: "code", spellcheck: "false", value: Object.keys(others).length ? JSON.stringify(others, null, 2) : "" }), "JSON, as POST /api/sends takes it: data, badge, sound, apns, fcm, wns, web, native"),
    };
    this.services = Object.entries(services).filter(([name]) => name !== "mpns").map(([name, words]) => {
      const box = h("input", { type: "checkbox", value: name });
      box.checked = !chosen || chosen.includes(name);
      return { box, node: h("label", { class: "check" }, box, words) };
    });
    this.dryRun = h("input", { type: "checkbox" });
    this.dryRun.checked = dryRun === true;
    this.audience = audienceFields(typed(to), this.signal, (found) => {
      this.counted = found;
      if (this.why) this.update();
    }, () => this.typed?.services);
    this.phones = phones();
    this.previewNote = h("p", { class: "quiet-text" });
    this.send = h("button", { type: "submit", id: "send", text: "Send" });
    this.me = button(`To ${session.user} alone`, "quiet", () => this.goToMe(), { id: "send-to-me" });
    this.why = h("p", { class: "hint", id: "why-not", role: "status" });
    const f = this.fields;
    const form = h("form", { id: "compose" },
      h("section", { class: "card stack" }, h("h2", { text: "To" }), this.audience.node,
        h("div", { class: "field", role: "group", "aria-label": "Services" }, h("span", { text: "Services" }), h("div", { class: "line" }, this.services.map(({ node }) => node)))),
      h("section", { class: "card stack" }, h("h2", { text: "Message" }), f.title.node, f.body.node, h("div", { class: "halves tight" }, f.link.node, f.image.node)),
      h("section", { class: "card" }, h("details", { open: Boolean(label || collapse || ttl || priority || at || Object.keys(others).length) }, h("summary", { text: "When, and more" }),
        h("div", { class: "stack inner" }, h("div", { class: "halves tight" }, f.at.node, f.ttl.node, f.label.node, f.priority.node, f.collapse.node), f.others.node,
          h("label", { class: "check" }, this.dryRun, "Dry run: everything is done but the push")))),
      h("div", { class: "stack" }, h("div", { class: "line" }, this.send, this.me), this.why));
    main.append(head("Compose", button("Clear", "quiet small", () => {
        draft.clear();
        main.replaceChildren();
        open(main, { query: new URLSearchParams(), signal: this.signal });
      })),
      h("p", { class: "warn", text: session.mayAct ? "" : "A viewer may look and count, and not send." }),
      h("div", { class: "halves" }, form, h("section", { class: "stack beside", "aria-label": "Preview" }, h("h2", { text: "As devices show it" }), this.previewNote, this.phones.node)));
    this.askPreview = settle(() => this.repreview());
    form.addEventListener("input", () => this.change());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go();
    });
  }

  /** The message as it is typed, without whom it is for; throws where it cannot be one. */
  message() {
    const message = {};
    const { fields } = this;
    for (const name of texts) if (fields[name].input.value !== "") message[name] = fields[name].input.value;
    if (fields.ttl.input.value !== "") message.ttl = Number(fields.ttl.input.value);
    if (fields.priority.input.value) message.priority = fields.priority.input.value;
    if (fields.at.input.value) message.at = new Date(fields.at.input.value).toISOString();
    if (this.dryRun.checked) message.dryRun = true;
    const others = fields.others.input.value.trim();
    fields.others.blame("");
    if (others) {
      try {
        const value = JSON.parse(others);
        if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("it has to be an object: {…}");
        Object.assign(message, value);
      } catch (error) {
        fields.others.blame(error.message);
        throw error;
      }
    }
    const chosen = this.services.filter(({ box }) => box.checked).map(({ box }) => box.value);
    if (chosen.length > 0 && chosen.length < this.services.length) message.services = chosen;
    return message;
  }

  /** Something was typed: it is another send. How many it is for is counted anew where that has changed. */
  change() {
    this.key = crypto.randomUUID();
    this.preview = null;
    this.typed = null;
    try {
      this.typed = this.message();
      draft.write({ ...this.typed, to: this.audience.to() });
    } catch {
      // The field says what is wrong; the draft is the last one that could be read.
    }
    const audience = JSON.stringify([this.audience.to(), this.typed?.services]);
    if (audience !== this.lastAudience) {
      this.counted = null;
      this.audience.count();
    }
    this.lastAudience = audience;
    put(this.send, this.fields.at.input.value ? "Schedule" : this.dryRun.checked ? "Try it" : "Send");
    this.update();
    this.askPreview();
  }

  async repreview() {
    const message = this.typed;
    this.fault = "";
    if (!message || !contents.some((name) => message[name] !== undefined)) {
      this.fault = "Write a title or a text.";
      this.phones.show(null, null);
      put(this.previewNote, "What is written is shown here, as each service's devices show it.");
      return this.update();
    }
    try {
      const found = await post("sends/preview", { to: this.audience.to() ?? { all: true }, ...message });
      if (this.signal.aborted || message !== this.typed) return;
      this.preview = found;
      this.phones.show(found, message);
      put(this.previewNote, "");
    } catch (error) {
      if (error.status === 401) return ended.tell();
      this.fault = reason(error);
      put(this.previewNote, this.fault);
    }
    this.update();
  }

  /** Whether it can be sent, and if not, why. */
  update() {
    const why = !session.mayAct ? "Only an operator sends." : !this.typed ? "Other members are not JSON." : !this.audience.to() ? "Say whom it is for." : !this.counted ? "Being counted …"
      : !this.preview ? this.fault || "Being looked at …" : isRefused(this.preview) ? "A service would refuse it: see the preview." : "";
    put(this.why, why);
    this.send.disabled = why !== "" || this.isSending;
    this.me.disabled = !session.mayAct || !this.typed || !this.preview || isRefused(this.preview) || this.isSending;
  }

  /** One job, however often it is pressed: the same key says so to the server too. */
  async post(body, key) {
    this.isSending = true;
    this.update();
    try {
      return await (await call("POST", "sends", body, { "Idempotency-Key": key })).json();
    } finally {
      this.isSending = false;
      this.update();
    }
  }

  async go() {
    if (this.send.disabled || this.isSending) return;
    const [body, key, { total, isComplete }] = [{ to: this.audience.to(), ...this.typed }, this.key, this.counted];
    let job;
    const work = async () => { job = await this.post(body, key); };
    const isDone = total > many && !body.dryRun
      ? await ask({ title: `Send to ${isComplete ? "" : "at least "}${plural(total, "device")}?`, words: [body.at ? `It goes out on ${moment(body.at)}.` : "It goes out at once.", ...(this.preview.warnings ?? []).map(({ member, reason }) => `${member}: ${reason}`)], count: total, typed: many, verb: body.at ? "Schedule it" : "Send it", work })
      : await act(this.send, work);
    this.update();
    if (!isDone) return;
    draft.clear();
    location.hash = `#/sends/${job.id}`;
  }

  async goToMe() {
    const { at, label, ...message } = this.typed;
    let job;
    const isDone = await act(this.me, async () => { job = await this.post({ ...message, to: { user: session.user } }, crypto.randomUUID()); });
    this.update();
    if (isDone) say(`On its way to the devices of ${session.user}; it is the send ${job.id}.`);
  }
}

/** A moment as the browser's field has it: local, to the minute. */
function local(text) {
  const date = new Date(text);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
