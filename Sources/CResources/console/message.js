// A message as devices show it, and as the services get it.

import { h, s, show } from "./dom.js";
import { bytes, number, serviceName } from "./format.js";
import { progress } from "./charts.js";

const bell = () => s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4" }));

const text = (value) => (typeof value === "string" ? value : "");

/** The words of a service's payload, wherever that service has them. */
function words(service, payload, message) {
  const found = { apns: () => payload?.aps?.alert, fcm: () => payload?.notification ?? payload?.message?.notification, web: () => payload?.notification ?? payload }[service]?.();
  if (typeof found === "string") return { title: "", body: found };
  return { title: text(found?.title) || text(message?.title), body: text(found?.body) || text(message?.body), subtitle: text(found?.subtitle) };
}

/** How one service's devices would show it, with its size and what is wrong. */
function phone({ service, credential, payload, size, limit, errors = [], headers }, message) {
  const { title, body, subtitle } = words(service, payload, message);
  const isSilent = !title && !body;
  const share = progress(`Size at ${serviceName(service)}`);
  if (size !== undefined && limit) share.show(size / limit);
  const isOver = size !== undefined && limit !== undefined && size > limit;
  return h("article", { class: `phone ${service}`, data: { service } },
    h("h3", {}, h("span", { class: `key ${service}` }), serviceName(service), credential ? ` (${credential})` : ""),
    h("div", { class: "bubble" }, bell(),
      isSilent ? h("p", { class: "meta", text: "Nothing is shown: the app is woken and handed its data." }) : h("p", { class: "title", text: title || body }),
      !isSilent && subtitle ? h("p", { class: "meta", text: subtitle }) : null,
      !isSilent && title && body ? h("p", { class: "body", text: body }) : null,
      message?.image ? h("p", { class: "meta", text: `Picture: ${message.image}` }) : null,
      message?.link ? h("p", { class: "meta", text: `Opens ${message.link}` }) : null),
    size === undefined ? null : h("div", { class: `size ${isOver ? "is-over" : ""}` }, share.node,
      h("span", { text: `${number(size)} of ${limit ? number(limit) : "any number of"} bytes${isOver ? `: ${bytes(size - limit)} too many` : ""}` })),
    errors.map(({ member, reason }) => h("p", { class: "bad", text: member ? `${member}: ${reason}` : reason })),
    payload === undefined ? null : h("details", {}, h("summary", { text: "What the service gets" }),
      h("pre", { tabindex: "0", text: `${Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\n`).join("")}${typeof payload === "string" ? payload : JSON.stringify(payload, null, 2)}` })));
}

/** A row of phones, one for each service and credential. */
export function phones() {
  const node = h("div", { class: "phones" });
  const warnings = h("ul", { class: "alerts" });
  let last = "";
  return { node: h("div", { class: "stack" }, warnings, node), show(preview, message) {
    const now = JSON.stringify([preview, message]);
    if (now === last) return;
    last = now;
    const open = new Set([...node.querySelectorAll("details[open]")].map((details) => details.closest("article").dataset.service));
    node.replaceChildren(...(preview?.services ?? []).map((service) => phone(service, message)));
    for (const details of node.querySelectorAll("details")) details.open = open.has(details.closest("article").dataset.service);
    warnings.replaceChildren(...(preview?.warnings ?? []).map(({ member, reason }) => h("li", {}, h("strong", { text: member }), h("span", { text: reason }))));
    show(warnings, preview?.warnings?.length);
  } };
}

/** Whether a service would refuse it. */
export const isRefused = (preview) => (preview?.services ?? []).some(({ size, limit, errors }) => errors?.length > 0 || size > limit);

/** A message that is to be sent again waits here for the page Compose. */
export const draft = {
  read: () => JSON.parse(sessionStorage.getItem("pushline.console.draft") ?? "null"),
  write: (value) => sessionStorage.setItem("pushline.console.draft", JSON.stringify(value)),
  clear: () => sessionStorage.removeItem("pushline.console.draft"),
};
