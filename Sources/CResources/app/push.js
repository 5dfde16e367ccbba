// The browser's subscription: what a device token is to a phone's app.

import { configuration, url } from "./api.js";
import { language } from "./texts.js";

/**
 * For how long the worker and the push service may leave us without an answer, in milliseconds: where no service is reachable, or the
 * worker does not become active, some browsers wait for ever.
 */
const patience = 20_000;

export const isSupported = () => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

// The one use of the policy: nothing else on this page becomes a script.
const policy = window.trustedTypes?.createPolicy("pushline", {
  createScriptURL(address) {
    const worker = new URL(address, location.href);
    if (worker.origin === location.origin && worker.pathname === new URL("sw.js", location.href).pathname) return worker.href;
    throw new TypeError(`${address} is not this page's service worker`);
  },
});

/** The worker is told where the API is and which language to speak. */
async function worker() {
  const address = `sw.js?${new URLSearchParams({ api: url(""), language })}`;
  const registration = await navigator.serviceWorker.register(policy ? policy.createScriptURL(address) : address);
  await active(registration);
  return registration;
}

/** Waits for this page's own worker. `navigator.serviceWorker.ready` may be the default app's, below whose scope other apps' pages lie. */
async function active(registration) {
  const next = registration.active ?? registration.waiting ?? registration.installing;
  while (next.state !== "activated") {
    if (next.state === "redundant") throw new Error("the service worker was not started");
    await new Promise((resolve) => next.addEventListener("statechange", resolve, { once: true }));
  }
}

/** This page's worker, where it has one. */
export async function existing() {
  const registration = await navigator.serviceWorker?.getRegistration();
  return registration?.scope === new URL("./", location.href).href ? registration : undefined;
}

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
const base64url = (text) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const isSame = (one, other) => one.length === other.length && one.every((byte, index) => byte === other[index]);

function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("timeout")), patience); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Asks for the permission, for which people may take their time, and then for the handle to register. */
export async function subscribe() {
  if ((await Notification.requestPermission()) !== "granted") throw Object.assign(new Error("denied"), { isDenied: true });
  return inTime(handle());
}

/** The address that the browser gave out leads nowhere from now on: whoever sends there is told that it is gone. */
export async function unsubscribe() {
  const subscription = await (await existing())?.pushManager.getSubscription();
  if (subscription) await inTime(subscription.unsubscribe());
}

/** In the one spelling that the server gives a subscription too. */
async function handle() {
  const { pushManager } = await worker();
  const key = bytes(configuration.vapidPublicKey);
  let subscription = await pushManager.getSubscription();
  const known = subscription?.options.applicationServerKey;
  // Made for a former key of the server's, it would take nothing from us.
  if (subscription && known && !isSame(new Uint8Array(known), key)) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = subscription.toJSON();
  return base64url(JSON.stringify({ endpoint, p256dh: keys.p256dh, auth: keys.auth }));
}
