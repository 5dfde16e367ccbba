// The console: who is signed in, which page is open, and what is around it. A page's address is the part behind `#`, so it works below any path.

import * as api from "./api.js";
import { h, put, s, seen, show } from "./dom.js";
import { button, connection, ended, field, get, given, head, input, post, reason, say, session } from "./page.js";
import { listenToKeys } from "./table.js";
import * as overview from "./overview.js";
import * as sends from "./sends.js";
import * as send from "./send.js";
import * as queues from "./queues.js";
import * as dead from "./dead.js";
import * as setup from "./setup.js";
import * as people from "./people.js";
import * as audience from "./audience.js";
import * as compose from "./compose.js";
import * as audit from "./audit.js";

/** The pages in the order of the menu: their groups, places, titles and signs. */
const menu = [
  ["Now", [
    ["", "Overview", overview, "M4 13h4l2-6 4 10 2-4h4"],
    ["sends", "Sends", sends, "M4 12 20 4l-5 16-3-7zM12 13l8-9"],
    ["queues", "Queues", queues, "M4 6h16M4 12h16M4 18h10"],
    ["dead", "Dead letters", dead, "M4 6h16v12H4zM4 7l8 6 8-6"],
  ]],
  ["Send", [
    ["compose", "Compose", compose, "M4 20h4L19 9l-4-4L4 16zM13 7l4 4"],
    ["audience", "Audience", audience, "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-4 2.5-6 6-6s6 2 6 6M16 5a3.5 3.5 0 0 1 0 6M18 14c2 1 3 3 3 6"],
  ]],
  ["Administration", [
    ["app", "App", setup, "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 3v3M12 18v3M3 12h3M18 12h3M6 6l2 2M16 16l2 2M18 6l-2 2M8 16l-2 2"],
    ["people", "People", people, "M8 14a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 10h9M17 10v4M21 10v3"],
    ["audit", "Audit", audit, "M6 3h9l4 4v14H6zM9 11h7M9 15h7"],
  ]],
];
const pages = new Map(menu.flatMap(([, entries]) => entries).map(([place, title, page]) => [place, { title, page }]));

let open = new AbortController();

/** The place that the address names: a page, what it is about, and its filters. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/").map(decodeURIComponent);
  return { name, id, query: new URLSearchParams(query) };
}

/** The filters of the open page, kept in its address without another step in the history. */
function keep(values) {
  const [path] = location.hash.split("?");
  const text = given(values).toString();
  history.replaceState(null, "", text ? `${path || "#/"}?${text}` : path || "#/");
}

function go() {
  if (session.user === null) return;
  const { name, id, query } = place();
  const { title, page } = pages.get(name) ?? pages.get("");
  leave();
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.place === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${title} – ${api.configuration.app} – Pushline`;
  (id && name === "sends" ? send : page).open(seen("main"), { id, query, keep, signal: open.signal });
  // A reader hears where they are; a reload leaves the focus to the list.
  if (document.documentElement.dataset.ready) document.querySelector("#main h1")?.focus();
  scrollTo(0, 0);
}

/** The page that is open asks nothing more. */
function leave() {
  open.abort();
  open = new AbortController();
  api.unwatch();
  say("");
  toggle(false);
  seen("main").replaceChildren();
}

function toggle(isOpen) {
  show(seen("nav"), isOpen);
  seen("menu").setAttribute("aria-expanded", String(isOpen));
}

function draw() {
  const entry = ([place, title, , path]) => h("li", {}, h("a", { href: `#/${place}`, data: { place } },
    s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path })), title));
  const groups = menu.map(([name, entries]) => [h("h2", { text: name }), h("ul", {}, entries.map(entry))]);
  const who = h("div", { class: "who" }, h("span", {}, "Signed in as ", h("strong", { text: session.user }),
    session.mayAct ? ", operator" : `, ${session.role}: you see everything and change nothing`), h("span", { text: `Version ${api.configuration.version ?? "not known"}` }), button("Sign out", "quiet small", signOut, { id: "sign-out" }));
  seen("nav").replaceChildren(h("div", {}, groups, who));
  show(seen("menu"), true);
}

async function signOut() {
  try {
    await api.call("DELETE", "session");
  } catch (error) {
    if (error.status !== 401) return say(`Not signed out: ${reason(error)}`, "bad");
  }
  welcome();
}

/** The sign-in, in place of every page. */
function welcome(words = "") {
  Object.assign(session, { user: null, role: null });
  leave();
  connection(true);
  seen("dialog").close();
  seen("nav").replaceChildren();
  show(seen("menu"), false);
  document.title = "Sign in – Pushline";
  const user = field("Name", input({ autocomplete: "username", required: true, maxlength: "256" }));
  const password = field("Password", input({ type: "password", autocomplete: "current-password", required: true }));
  const fault = h("p", { class: "bad", role: "alert", id: "sign-in-fault", text: words });
  const button = h("button", { id: "sign-in", text: "Sign in" });
  const form = h("form", {}, user.node, password.node, fault, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    put(fault, "");
    try {
      await enter({ user: user.input.value, password: password.input.value });
    } catch (error) {
      put(fault, error.status === 401 ? "Name or password is wrong." : reason(error));
      password.input.value = "";
      password.input.focus();
    } finally {
      button.disabled = false;
    }
  });
  seen("main").append(h("div", { class: "card welcome stack" }, head("Sign in"),
    h("p", { class: "quiet-text", text: `With an account of the app ${api.configuration.app} that is an operator or a viewer.` }), form,
    h("p", { class: "hint" }, "On the server's host, ", h("code", { text: "pushline console --as NAME" }), " prints a link that signs you in once.")));
  document.documentElement.dataset.ready = "yes";
  user.input.focus();
}

/** Opens a session, by a password or a link's secret. */
async function enter(body) {
  start(await post("session", body));
}

function start({ user, role }) {
  Object.assign(session, { user, role });
  draw();
  go();
}

async function begin() {
  await api.configure("console");
  put(seen("app"), api.configuration.app);
  ended.tell = () => { if (session.user !== null) welcome("The session has ended. Sign in again to go on."); };
  seen("skip").addEventListener("click", (event) => { event.preventDefault(); seen("main").focus(); });
  seen("menu").addEventListener("click", () => toggle(seen("nav").hidden));
  seen("notice").querySelector("button").addEventListener("click", () => say(""));
  addEventListener("hashchange", () => (link() ? enterByLink() : go()));
  listenToKeys();
  if (link()) return enterByLink();
  try {
    start(await get("session"));
  } catch (error) {
    if (error.status !== 401) throw error;
    welcome();
  }
}

/** The secret of a link that signs in once. */
const link = () => location.hash.match(/^#link=(.+)$/)?.[1];

async function enterByLink() {
  const secret = decodeURIComponent(link());
  // It is worth nothing any more, and stands in no history.
  history.replaceState(null, "", "#/");
  try {
    await enter({ link: secret });
  } catch (error) {
    welcome(error.status === 401 ? "This link was used before, or its five minutes are over. Make another, or sign in." : reason(error));
  }
}

begin().then(() => { document.documentElement.dataset.ready = "yes"; }, (error) => {
  seen("main").replaceChildren(head("The console cannot start"), h("p", { text: reason(error) }));
});
