// The classic app's screen: its rules are in `update`, its steps in the functions below.

import * as api from "./api.js";
import * as push from "./push.js";
import * as results from "./results.js";
import * as viewer from "./viewer.js";
import { load, language, text } from "./texts.js";

const seen = (id) => document.getElementById(id);

/** `device`: what is known of the subscription; `handle`: its handle; `user`: who is signed in. */
const page = { device: "asking", reason: "", handle: null, user: null, isBusy: false };

/** Log in needs the subscription, or the choice to go on without; Send needs the sign-in. */
function update() {
  const isKnown = page.device === "known" || page.device === "without";
  seen("device-state").textContent = text(`device.${page.device}`, { reason: page.reason });
  seen("device-choices").hidden = page.device === "known";
  seen("subscribe").hidden = page.device === "unsupported" || page.device === "working";
  seen("without").hidden = page.device === "without";
  seen("log-in").disabled = !isKnown || page.isBusy;
  seen("sign-in").hidden = page.user !== null;
  seen("log-out").hidden = page.user === null;
  seen("log-out").disabled = page.isBusy;
  seen("account-state").textContent = page.user !== null ? text("signedIn", { user: page.user }) : text(isKnown ? "signedOut" : "deviceFirst");
  seen("send").disabled = page.user === null || page.isBusy;
  seen("picture").disabled = page.user === null || page.isBusy || page.device !== "known";
  for (const input of document.querySelectorAll("#services input")) {
    const name = input.value === "gcm" ? "fcm" : input.value;
    input.disabled = !api.configuration.services.includes(name);
    if (input.disabled) input.checked = false;
  }
}

/** What is pressed is disabled or hidden for a while, and the keyboard would begin anew at the top of the page. */
function refocus(pressed, next) {
  const now = document.activeElement ?? document.body;
  const isLost = now === document.body ? pressed !== document.body : now === pressed || now.getClientRects().length === 0;
  // Who has gone elsewhere meanwhile stays there.
  if (isLost) next.focus();
}

const afterSession = () => seen(page.user === null ? "user" : "recipient");

let last = Promise.resolve();

/** One step at a time: what another tab tells waits for what is under way here. */
function step(work) {
  const pressed = document.activeElement ?? document.body;
  const mine = last.then(() => take(work, pressed));
  // Whoever asked for it hears what went wrong; the next one goes on.
  last = mine.catch(() => {});
  return mine;
}

/** A session that has ended leads back to the sign-in. */
async function take(work, pressed) {
  const { user } = page;
  page.isBusy = true;
  update();
  try {
    await work();
  } catch (error) {
    const isEnded = error.status === 401 && page.user !== null;
    if (isEnded) await leave();
    results.append("results", isEnded ? text("sessionEnded") : text("failed", { reason: error.message }), "bad");
  } finally {
    page.isBusy = false;
    update();
    refocus(pressed, page.user === user ? pressed : afterSession());
  }
}

const idKey = () => `pushline.id.${api.configuration.app}`;

/** As phones do: the stored id, or one that is asked for; once more where the id is gone. */
async function register() {
  if (page.handle === null) return;
  for (const isLast of [false, true]) {
    let id = localStorage.getItem(idKey());
    if (id === null) {
      id = await (await api.call("POST", `register?handle=${encodeURIComponent(page.handle)}`)).json();
      localStorage.setItem(idKey(), id);
    }
    try {
      await api.call("PUT", `register/${encodeURIComponent(id)}`, { Platform: "web", Handle: page.handle, Tags: [] });
      return;
    } catch (error) {
      // 410: deleted on purpose; 404: another's by now.
      if (isLast || ![404, 410].includes(error.status)) throw error;
      localStorage.removeItem(idKey());
    }
  }
}

/** What a call says where the session has ended. */
const ended = Object.assign(new Error("401"), { status: 401 });

/** The other tabs with this page have the same session: it has ended where somebody else is signed in now, or nobody. */
const others = new BroadcastChannel("pushline.session");
others.addEventListener("message", ({ data }) => {
  if (data.app !== api.configuration.app) return;
  step(async () => { if (page.user !== null && page.user !== data.user) throw ended; });
});

/** Ends the wait for the subscription. */
let goOn = () => {};

async function subscribe() {
  const pressed = document.activeElement ?? document.body;
  Object.assign(page, { device: "working", reason: "" });
  update();
  try {
    const handle = await Promise.race([push.subscribe(), new Promise((resolve) => { goOn = resolve; })]);
    // Who went on without does not wait for it, and does not get it later.
    if (handle === undefined) return;
    page.handle = handle;
    page.device = "known";
  } catch (error) {
    page.device = error.isDenied ? "denied" : "failed";
    page.reason = error.message === "timeout" ? text("noPushService") : error.message;
  }
  update();
  refocus(pressed, page.device === "known" ? afterSession() : seen("subscribe"));
  if (page.device === "known" && page.user !== null) await step(register);
}

async function logIn() {
  const session = await (await api.call("POST", "session", { user: seen("user").value, password: seen("password").value })).json();
  seen("password").value = "";
  // Signed in is who can be reached: before the registration is true, nothing can be sent.
  others.postMessage({ app: api.configuration.app, user: session.user });
  await register();
  page.user = session.user;
}

/** What this browser has registered, maybe on an earlier day: it goes although nothing is subscribed now. */
async function unregister() {
  const id = localStorage.getItem(idKey());
  if (id === null) return;
  try {
    await api.call("DELETE", `register/${encodeURIComponent(id)}`);
  } catch (error) {
    // 410: gone already; 404: another's by now.
    if (![404, 410].includes(error.status)) throw error;
  }
  localStorage.removeItem(idKey());
}

/** What comes for this user must not reach the next one. */
async function logOut() {
  const failures = [];
  // What fails is told below: the session must end all the same.
  const attempt = (work) => work().catch((error) => failures.push(error));
  await attempt(unregister);
  // The server may go on sending; what it sends finds nobody, and then the registration goes too.
  if (failures.length > 0) await attempt(letGo);
  try {
    await api.call("DELETE", "session");
  } catch (error) {
    // It has ended by itself.
    if (error.status !== 401) throw error;
  }
  await leave();
  others.postMessage({ app: api.configuration.app, user: null });
  if (failures.length > 0) throw failures[0];
}

async function letGo() {
  await push.unsubscribe();
  Object.assign(page, { device: "asking", handle: null });
}

/** The session is over: the screen is as it was before anybody signed in, for what came for this user or was written by them is theirs. */
async function leave() {
  page.user = null;
  api.unwatch();
  viewer.clear();
  for (const list of ["results", "received"]) results.clear(list);
  for (const form of ["sign-in", "message"]) seen(form).reset();
  const worker = await push.existing();
  for (const notification of await worker?.getNotifications() ?? []) notification.close();
}

/** One call, one line of the results, which then follows the job. */
async function post(name, path, body) {
  const entry = results.append("results", `${name}: ${text("sending")}`);
  try {
    const answer = await api.call("POST", path, body);
    const job = answer.headers.get("Pushline-Job");
    entry.line.dataset.job = job;
    entry.show(`${name}: ${text("state.queued")}`);
    api.watch(job, (job, error) => {
      if (error?.status === 401) return step(() => Promise.reject(error));
      const [words, kind] = job ? results.state(job) : [text("failed", { reason: error.message }), "bad"];
      if (job?.isFinal) entry.line.dataset.final = job.state;
      entry.show(`${name}: ${words}`, kind);
    });
  } catch (error) {
    if (error.status === 401) throw error;
    entry.show(`${name}: ${text("failed", { reason: error.message })}`, "bad");
  }
}

async function send() {
  const switches = [...document.querySelectorAll("#services input:checked")];
  if (switches.length === 0) throw new Error(text("noService"));
  for (const { value } of switches) {
    const query = new URLSearchParams({ pns: value, to_tag: seen("recipient").value.trim() });
    await post(value === "web" ? "Web" : value.toUpperCase(), `notifications?${query}`, seen("text").value);
  }
}

const sendPicture = () => post(text("sendPicture"), "notifications", { platforms: ["web"] });

/** A notification's content, for its addressee. */
const show = (id) => step(() => viewer.show(id));

/** What a service worker tells. */
function receive({ data }) {
  if (data.isRenewed && page.device === "known") subscribe();
  if (data.open) show(data.open.id);
  // What comes after the session's end is in the browser's own notification alone.
  if (!data.received || page.user === null) return;
  const { title, message } = data.received;
  const { line } = results.append("received", title && message ? `${title}: ${message}` : title || message);
  if (!data.received.id) return;
  const more = document.createElement("button");
  Object.assign(more, { type: "button", className: "quiet", textContent: text("more") });
  more.addEventListener("click", () => show(data.received.id));
  line.append(more);
}

function onSubmit(id, work) {
  seen(id).addEventListener("submit", (event) => {
    event.preventDefault();
    step(work);
  });
}

/** Who was signed in stays so over a reload. */
async function resume() {
  if (!push.isSupported() || !api.configuration.vapidPublicKey) page.device = "unsupported";
  else if (Notification.permission === "granted") await subscribe();
  let session;
  try {
    session = await (await api.call("GET", "session")).json();
  } catch (error) {
    if (error.status !== 401) throw error;
    return;
  }
  // As after a sign-in: before the registration is true, nothing can be sent.
  await register();
  page.user = session.user;
}

async function start() {
  await Promise.all([load(), api.configure()]);
  seen("language").value = language;
  seen("language").addEventListener("change", async () => {
    await load(seen("language").value);
    update();
  });
  seen("subscribe").addEventListener("click", subscribe);
  seen("without").addEventListener("click", () => {
    page.device = "without";
    goOn();
    update();
    afterSession().focus();
  });
  seen("log-out").addEventListener("click", () => step(logOut));
  seen("picture").addEventListener("click", () => step(sendPicture));
  onSubmit("sign-in", logIn);
  onSubmit("message", send);
  navigator.serviceWorker?.addEventListener("message", receive);
  navigator.serviceWorker?.startMessages();
  await step(resume);
  const wanted = location.hash.match(/^#notification=(\d+)$/);
  if (wanted) await show(wanted[1]);
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => { seen("device-state").textContent = error.message; });
