// What the pages share: what is said, what is asked, and how the server is asked again and again.

import { call } from "./api.js";
import { h, put, seen, show } from "./dom.js";
import { number } from "./format.js";

/** Who is signed in. A viewer reads, and has no buttons that do something. */
export const session = { user: null, role: null, get mayAct() { return this.role === "operator"; } };

/** Set by whoever leads back to the sign-in. */
export const ended = { tell: () => {} };

/** Says what came of an act, until the next page or until it is closed. */
export function say(words, kind = "good") {
  const notice = seen("notice");
  notice.className = `notice ${kind}`;
  put(notice.querySelector("p"), words);
  show(notice, words !== "");
}

/** Says it to a screen reader alone. */
export const speak = (words) => put(seen("spoken"), words);

/** Why the server did not do it: a refusal has its own words, and is not taken for a server that is away. */
export function reason(error) {
  if (!error.status) return error instanceof TypeError ? "the server does not answer; nothing is known of what became of it" : error.message;
  // Its number says nothing to a reader, but where there are no words.
  return error.message.replace(/^\d{3}: /, "").replace(/^(\d{3})$/, "the server refuses it ($1)");
}

/** Does what a button is for: it cannot be pressed again meanwhile, and what goes wrong is said. Whether it went well. */
export async function act(button, work) {
  const isFocused = document.activeElement === button;
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    await work();
    return true;
  } catch (error) {
    if (error.status === 401) ended.tell();
    else say(`Not done: ${reason(error)}`, "bad");
    return false;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
    if (isFocused && button.isConnected && [document.body, button].includes(document.activeElement)) button.focus();
  }
}

const pause = (seconds, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

const visible = (signal) => new Promise((resolve) => {
  if (!document.hidden) return resolve();
  document.addEventListener("visibilitychange", resolve, { once: true });
  signal.addEventListener("abort", resolve, { once: true });
});

let lost = null;

/** A server that is away is said in one place, and what was last known stays on the page. */
export function connection(isThere) {
  if (isThere) lost = null;
  else lost ??= new Date();
  const words = lost ? `The server has not answered since ${lost.toLocaleTimeString("en-GB")}. What you see is from before; asking again.` : "";
  put(seen("connection"), words);
  show(seen("connection"), lost !== null);
}

/** Asks until the page is left, and never while nobody can see it; one question at a time. `refused` is told what a refusal says. */
export async function poll(signal, seconds, work, refused = (error) => say(reason(error), "bad")) {
  while (!signal.aborted) {
    await visible(signal);
    if (signal.aborted) return;
    try {
      await work();
      connection(true);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return ended.tell();
      if (error.status && error.status < 500) {
        connection(true);
        refused(error);
      } else {
        connection(false);
      }
    }
    await pause(seconds, signal);
  }
}

/** The top of a page: its title, which gets the focus when the page is opened, and what can be done. */
export function head(title, ...actions) {
  return h("div", { class: "head" }, h("h1", { tabindex: "-1", text: title }), h("div", { class: "line" }, actions));
}

/** A button; of a column of buttons `about` says which of them it is. */
export function button(words, kind, work, { id, about } = {}) {
  return h("button", { type: "button", class: kind, id, "aria-label": about && `${words.replace(" …", "")} ${about}`, text: words, on: { click: ({ currentTarget }) => work(currentTarget) } });
}

/** Filters above a list: they stand in the address, under their names. `fields` are `[name, words, element]`. */
export function filters(values, fields, changed) {
  const entry = ([name, words, element]) => {
    element.value = values[name] ?? "";
    // What is no choice is not asked for, such as in an address from elsewhere.
    values[name] = element.value;
    element.addEventListener("change", () => {
      values[name] = element.value.trim();
      changed(name);
    });
    return h("label", {}, words, element);
  };
  return h("form", { class: "filters", role: "search", "aria-label": "Filters", on: { submit: (event) => event.preventDefault() } }, fields.map(entry));
}

/** What is given, without what is empty, as a query. */
export const given = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null));

export const get = async (path) => (await call("GET", path)).json();
export const post = async (path, body) => (await call("POST", path, body)).json();

/** A piece of a list. One that is filtered may come in pieces that have nothing: some of them are gone through. */
export async function piece(path, values) {
  let found = {};
  for (let round = 0; round < 10; round += 1) {
    found = await get(`${path}?${given({ ...values, cursor: found.cursor ?? values.cursor })}`);
    if (found.items.length > 0 || !found.cursor) break;
  }
  return found;
}

/** What is wrong with what was asked for. */
export const faultLine = () => h("p", { class: "bad", role: "alert" });

/** Names and values, written anew where they are others. */
export function facts() {
  const node = h("dl", { class: "facts" });
  let told = "";
  return { node, show(entries) {
    const lines = entries.filter(([, value]) => value !== undefined && value !== "" && value !== false);
    if (JSON.stringify(lines) === told) return;
    told = JSON.stringify(lines);
    node.replaceChildren(...lines.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", { text: value })]));
  } };
}

export const section = (title, ...children) => h("section", { class: "stack" }, h("h2", { text: title }), children);

/** A list that has nothing says what that means and what to do. */
export function empty(title, words, ...more) {
  return h("div", { class: "empty" }, h("strong", { text: title }), words ? h("p", { text: words }) : null, more);
}

/** Text to take along, such as a command. */
export function copyable(text) {
  const pre = h("pre", { tabindex: "0", text });
  const copy = button("Copy", "quiet small", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    put(copy, "Copied");
    speak("Copied");
  });
  return { node: h("div", { class: "copy" }, pre, copy), put: (text) => put(pre, text) };
}

/** A field with its label, what it is for, and what is wrong with it. */
export function field(name, input, hint = "") {
  const id = `field-${name.toLowerCase().replace(/\W+/g, "-")}-${(field.count += 1)}`;
  const about = h("span", { class: "hint", id: `${id}-hint`, text: hint });
  const fault = h("span", { class: "fault", id: `${id}-fault`, role: "status" });
  input.id = id;
  if (input.required) input.setAttribute("aria-required", "true");
  input.setAttribute("aria-describedby", `${hint ? about.id : ""} ${fault.id}`.trim());
  const node = h("div", { class: "field" }, h("label", { for: id, text: name }), input, hint ? about : null, fault);
  const blame = (words) => {
    put(fault, words);
    if (words) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  return { node, input, blame, hint: (words) => put(about, words) };
}
field.count = 0;

export const input = (properties = {}) => h("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...properties });

/** A list of choices: `[value, words]` each. */
export function select(choices, value = "", properties = {}) {
  const element = h("select", properties, choices.map(([value, words]) => h("option", { value, text: words })));
  element.value = value;
  return element;
}

/**
 * Asks before something is done, and does it while the dialog stays: whether it was done. `count` is how much it concerns: above `typed` it
 * has to be typed, so that what is large is not done in passing. `fields` are asked for too; `work` gets their elements by name.
 */
export function ask({ title, words = [], count = null, typed = 100, expected = null, fields = [], verb, isDangerous = false, work }) {
  const dialog = seen("dialog");
  const wanted = expected ?? (count !== null && count > typed ? String(count) : null);
  const answer = wanted === null ? null : field(`Type ${wanted.length > 12 || expected ? wanted : number(count)} to go on`, input({ inputmode: expected ? null : "numeric" }));
  const fault = h("p", { class: "bad", role: "alert" });
  const go = h("button", { class: isDangerous ? "danger" : "", text: verb });
  const stop = button("Back", "quiet", () => dialog.close());
  const form = h("form", {}, h("h2", { id: "dialog-title", text: title }), [words].flat().map((text) => (text instanceof Node ? text : h("p", { text }))),
    fields.map(({ node }) => node), answer?.node, fault, h("div", { class: "actions" }, stop, go));
  const isTyped = () => wanted === null || answer.input.value.replace(/[,.\s]/g, "") === wanted.replace(/[,.\s]/g, "");
  const update = () => { go.disabled = !isTyped(); };
  answer?.input.addEventListener("input", update);
  update();
  const before = document.activeElement;
  dialog.replaceChildren(form);
  dialog.showModal();
  (fields[0]?.input ?? answer?.input ?? (isDangerous ? stop : go)).focus();
  return new Promise((resolve) => {
    let isDone = false;
    dialog.addEventListener("close", () => {
      dialog.replaceChildren();
      if (before?.isConnected) before.focus();
      resolve(isDone);
    }, { once: true });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!isTyped() || go.getAttribute("aria-busy")) return;
      put(fault, "");
      go.disabled = true;
      go.setAttribute("aria-busy", "true");
      try {
        await work?.((words) => put(go, words));
        isDone = true;
        dialog.close();
      } catch (error) {
        if (error.status === 401) {
          dialog.close();
          return ended.tell();
        }
        put(fault, reason(error));
        put(go, verb);
        go.removeAttribute("aria-busy");
        update();
      }
    });
  });
}
