"use strict";
// Receives pushes, also while no page is open. Its address says where the API is and which language the page speaks.

const parameters = new URL(self.location.href).searchParams;
const api = new URL(parameters.get("api") ?? "../api/", self.location.href);
const language = parameters.get("language") ?? "en";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data)));
// A page has the registration's id, so a page registers the new subscription: one that is open, or the next that is opened.
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(tell({ isRenewed: true })));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data, event.action));
});

async function texts() {
  try { return await (await fetch(`texts-${/^[A-Za-z-]+$/.test(language) ? language : "en"}.json`)).json(); } catch { return {}; }
}

function read(data) {
  try {
    const value = data.json();
    return value && typeof value === "object" ? value : { message: String(value) };
  } catch {
    return { message: data?.text() ?? "" };
  }
}

const text = (value) => (["string", "number", "boolean"].includes(typeof value) ? String(value) : "");

/** Whether an address is one of the API's, wherever a proxy has put it and however the path is written. */
function isAPI({ pathname }) {
  try { return decodeURIComponent(pathname).split(/[\\/]/).some((part) => part.toLowerCase() === "api"); } catch { return true; }
}

/**
 * An address at the page's own origin. Any user can send a link, and another site must not be opened in our name; another host's picture
 * would tell it who received what, and when. The API's are asked with the cookie of whoever is signed in, so a push names none.
 */
function own(address) {
  const value = text(address);
  if (value === "" || !URL.canParse(value, self.location)) return undefined;
  const url = new URL(value, self.location);
  return url.origin === self.location.origin && !isAPI(url) ? value : undefined;
}

/** The options of `showNotification` in a backend's message. */
function look(push) {
  const actions = Array.isArray(push.actions) ? push.actions.filter((action) => text(action?.action) && text(action.title)) : [];
  return {
    icon: own(push.icon) ?? "icon-192.png",
    badge: own(push.badge),
    image: own(push.image),
    tag: text(push.tag),
    // `showNotification` refuses it without a tag.
    renotify: push.renotify === true && text(push.tag) !== "",
    requireInteraction: push.requireInteraction === true,
    silent: push.silent === true ? true : null,
    actions: actions.map(({ action, title }) => ({ action: text(action), title: text(title) })),
  };
}

/** The number on the icon of the installed page. */
async function badge(number) {
  if (!Number.isInteger(number) || number < 0) return;
  // A browser that cannot show the number shows the message all the same.
  try { await self.navigator.setAppBadge?.(number); } catch { return; }
}

/** Every push is shown: browsers take the permission from pages that receive in silence. */
async function receive(data) {
  const words = await texts();
  const push = read(data);
  const id = Number(push.richId ?? push.secureId);
  const isRich = Number.isInteger(id) && id > 0;
  // A message of the classic routes, a rich one, or one of a backend, which may have data alone.
  const received = { title: text(push.title), message: text(push.message ?? push.richMessage ?? push.body), link: own(push.data?.link) };
  if (!received.title && !received.message && !isRich) received.message = JSON.stringify(push.data ?? push);
  if (isRich) Object.assign(received, await fetched(id, push, words));
  await tell({ received });
  await badge(push.app_badge);
  const shown = look(push);
  if (received.id) shown.actions.unshift({ action: "more", title: words.more ?? "More" });
  await self.registration.showNotification(received.title || "Pushline", { ...shown, body: received.message, data: received });
}

/** This app's pages; also those that a forced reload has left without a worker. Another app's page lies below the default app's. */
async function pages() {
  const { scope } = self.registration;
  const isOurs = ({ url }) => url.startsWith(scope) && !url.slice(scope.length).split(/[?#]/)[0].includes("/");
  return (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).filter(isOurs);
}

async function tell(message) {
  for (const page of await pages()) page.postMessage(message);
}

/** A rich push brings an id alone; the API gives the content to its addressee only. */
async function fetched(id, push, words) {
  try {
    const answer = await fetch(new URL(`notifications/${id}`, api), { credentials: "same-origin" });
    if (answer.status === 401) return { message: words.signInToSee ?? "" };
    // Another's, or gone: there is nothing that "More" could open.
    if ([403, 404].includes(answer.status)) return { message: words.notFetched ?? "" };
    if (answer.ok) {
      const isJSON = answer.headers.get("Content-Type")?.startsWith("application/json");
      const value = isJSON ? await answer.json().catch(() => null) : null;
      // A secure notification's text; other JSON is what somebody uploaded.
      if (value?.Id === id && typeof value.Payload === "string") return { message: value.Payload };
      return { id, message: String(push.richMessage ?? "") };
    }
  } catch {
    // No connection: as after a failure of the API's, "More" can try again.
  }
  return { id, message: words.notFetched ?? "" };
}

async function open(received, action) {
  if (received?.link && action !== "more") return self.clients.openWindow(received.link);
  const [page] = await pages();
  if (!page) return self.clients.openWindow(received?.id ? `./#notification=${received.id}` : "./");
  if (received?.id) page.postMessage({ open: received });
  return page.focus();
}
