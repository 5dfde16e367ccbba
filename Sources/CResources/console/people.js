// Accounts and keys: who may sign in, and what backends send with.

import { call } from "./api.js";
import { h, put, show } from "./dom.js";
import { act, ask, button, copyable, empty, faultLine, field, get, head, input, poll, post, reason, say, section, select, session, speak } from "./page.js";
import { chipOf, restore, table, timeOf } from "./table.js";

const roles = [["user", "user: registers devices, writes to users"], ["sender", "sender: sends to anybody"], ["viewer", "viewer: sees everything, changes nothing"], ["operator", "operator: does everything"]];

export function open(main, { signal }) {
  const made = h("div", { id: "made" });
  const fault = faultLine();
  const [accounts, keys] = [accountTable(() => refresh()), keyTable(() => refresh())];
  const none = empty("No keys", "A backend sends with a key of its own: make one, and give its secret to the backend.");
  const note = h("p", { class: "quiet-text" });
  show(none, false);
  main.append(head("People", session.mayAct ? [button("Add an account", "", () => addAccount(refresh), { id: "add-account" }), button("Make a key", "quiet", () => makeKey(made, refresh), { id: "make-key" })] : null),
    fault, made, section("Accounts", accounts.node, note), section("Keys of backends", keys.node, none));
  async function refresh() {
    const [people, backends] = await Promise.all([get("accounts?limit=1000"), get("keys")]);
    if (signal.aborted) return;
    put(fault, "");
    accounts.show(people.items);
    put(note, people.cursor ? "These are the first thousand; pushline accounts list shows all." : "");
    keys.show(backends.items.sort((one, other) => Boolean(one.revoked) - Boolean(other.revoked)));
    show(keys.node, backends.items.length > 0);
    show(none, backends.items.length === 0);
    restore();
  }
  poll(signal, 10, refresh, (error) => put(fault, reason(error)));
}

const isOwn = (name) => name.toLowerCase() === session.user.toLowerCase();

function accountTable(refresh) {
  return table("Accounts", ({ name }) => name, [
    ["Name", "head", ({ name }) => [name, isOwn(name) ? "that is you" : ""]],
    ["Role", "short", ({ role }) => role],
    ["State", "short", ({ disabled }, row) => chipOf(row, disabled ? "disabled" : "may sign in", disabled ? "quiet" : "good")],
    ["Since", "short", ({ created }, row) => timeOf(row, created)],
    ["", "number", ({ name, disabled }, row) => {
      if (!session.mayAct) return "";
      row.actions ??= h("div", { class: "actions" }, button("Change …", "quiet small", () => changeAccount(row.item, refresh), { about: name }),
        row.toggle = button("", "quiet small", (element) => setDisabled(row.item, refresh, element)), button("Remove …", "danger small", () => removeAccount(row.item, refresh), { about: name }));
      row.toggle.setAttribute("aria-label", `${disabled ? "Enable" : "Disable"} ${name}`);
      put(row.toggle, disabled ? "Enable" : "Disable");
      return row.actions;
    }],
  ]);
}

/** Whoever does this to their own account is asked a second time, and says so to the server. */
async function own(name, method, path, body) {
  if (!isOwn(name)) return call(method, path, body);
  if (!await ask({ title: "This is your own account", words: "You are signed out, and may not be able to sign in again. Is that what you want?", expected: name, verb: "Yes, my own account", isDangerous: true })) return null;
  return call(method, `${path}?self=true`, body);
}

async function setDisabled({ name, disabled }, refresh, element) {
  let isDone = false;
  await act(element, async () => {
    isDone = (await own(name, "PATCH", `accounts/${encodeURIComponent(name)}`, { disabled: !disabled })) !== null;
    await refresh();
  });
  if (isDone) say(`${name} ${disabled ? "may sign in again" : "cannot sign in any more"}.`);
}

async function removeAccount({ name, role }, refresh) {
  const isSure = await ask({ title: `Remove the account ${name}?`, words: [`It is ${role === "operator" ? "an operator" : `a ${role}`}, and cannot sign in any more. What it has registered and sent stays.`], verb: "Remove it", isDangerous: true });
  if (!isSure) return;
  try {
    if (await own(name, "DELETE", `accounts/${encodeURIComponent(name)}`) === null) return;
    say(`The account ${name} is removed.`);
    await refresh();
  } catch (error) {
    say(`Not removed: ${reason(error)}`, "bad");
  }
}

const newPassword = (hint) => field("Password", input({ type: "password", autocomplete: "new-password", minlength: "8", maxlength: "1024" }), hint);

async function changeAccount({ name, role }, refresh) {
  const chosen = field("Role", select(roles, role));
  const password = newPassword("At least 8 characters; empty leaves it as it is");
  const body = {};
  const path = `accounts/${encodeURIComponent(name)}`;
  const isSure = await ask({ title: `Change ${name}`, fields: [chosen, password], verb: "Change it", work: async () => {
    if (chosen.input.value !== role) body.role = chosen.input.value;
    if (password.input.value) body.password = password.input.value;
    if (Object.keys(body).length === 0) throw new Error("nothing is changed: choose another role, or give a password");
    if (!isOwn(name)) await call("PATCH", path, body);
  } });
  if (!isSure) return;
  try {
    if (isOwn(name) && await own(name, "PATCH", path, body) === null) return say("Nothing is changed.", "warn");
    say(`${name} is changed.`);
    await refresh();
  } catch (error) {
    say(`Not changed: ${reason(error)}`, "bad");
  }
}

async function addAccount(refresh) {
  const name = field("Name", input({ required: true, maxlength: "256" }));
  const role = field("Role", select(roles, "viewer"));
  const password = newPassword("At least 8 characters");
  password.input.required = true;
  const isDone = await ask({ title: "Add an account", fields: [name, role, password], verb: "Add it",
    work: () => call("POST", "accounts", { name: name.input.value, role: role.input.value, password: password.input.value }) });
  if (!isDone) return;
  say(`${name.input.value} may sign in.`);
  await refresh();
}

async function makeKey(place, refresh) {
  const name = field("Name", input({ required: true, maxlength: "111" }), "Such as that of the backend: shop");
  const role = field("Role", select(roles.filter(([role]) => role !== "user"), "sender"));
  let key;
  const isDone = await ask({ title: "Make a key", fields: [name, role], verb: "Make it",
    work: async () => { key = await post("keys", { name: name.input.value, role: role.input.value }); } });
  if (!isDone) return;
  const secret = copyable(key.secret);
  const close = button("I have it", "quiet small", () => place.replaceChildren());
  const title = h("h2", { tabindex: "-1", text: `The key ${key.name}` });
  secret.node.querySelector("pre").className = "secret";
  place.replaceChildren(h("section", { class: "card stack" }, h("div", { class: "head" }, title, close),
    h("p", { text: "Its secret is shown here, once: keep it where the backend finds it. It is nowhere else, and gone when this page is left." }), secret.node));
  title.focus();
  speak(`The key ${key.name} is made; its secret is shown once.`);
  await refresh();
}

function keyTable(refresh) {
  return table("Keys", ({ name, created }) => `${name} ${created}`, [
    ["Name", "head", ({ name }) => name],
    ["Role", "short", ({ role }) => role],
    ["State", "short", ({ revoked }, row) => chipOf(row, revoked ? "revoked" : "in use", revoked ? "quiet" : "good")],
    ["Since", "short", ({ created }, row) => timeOf(row, created)],
    ["", "number", ({ name, revoked }, row) => {
      row.actions ??= h("div", { class: "actions" }, h("a", { class: "button quiet small", href: `#/sends?key=${encodeURIComponent(name)}`, text: "Its sends" }),
        row.revoke = button("Revoke …", "danger small", () => revokeKey(name, refresh), { about: name }));
      show(row.revoke, session.mayAct && !revoked);
      return row.actions;
    }],
  ]);
}

async function revokeKey(name, refresh) {
  const isDone = await ask({ title: `Revoke the key ${name}?`, words: "Within seconds it lets nobody in, and cannot be made good again. What was sent with it goes on.", verb: "Revoke it", isDangerous: true,
    work: () => call("DELETE", `keys/${encodeURIComponent(name)}`) });
  if (!isDone) return;
  say(`The key ${name} is revoked.`);
  await refresh();
}
