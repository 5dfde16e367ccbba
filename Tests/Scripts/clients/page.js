// What docs/clients.md's example for pages finds in one, for Node: a browser's subscription, made of the handle HANDLE, and its storage.
const { endpoint, p256dh, auth } = JSON.parse(Buffer.from(process.env.HANDLE, "base64url"));
const subscription = { toJSON: () => ({ endpoint, expirationTime: null, keys: { p256dh, auth } }) };
const serviceWorker = { ready: Promise.resolve({ pushManager: { subscribe: async () => subscription } }) };
Object.defineProperty(globalThis, "navigator", { value: { serviceWorker }, configurable: true });
globalThis.localStorage = {};
globalThis.crypto ??= require("node:crypto").webcrypto;
const PUBLIC_KEY = "";
