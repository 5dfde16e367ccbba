// Tables whose rows stay, and how they are walked through by keys.

import { h, put, rows } from "./dom.js";
import { rechip, retime, serviceName } from "./format.js";
import { progress } from "./charts.js";

/** What a cell has: a text or a node, and what stands small below it. */
function fill(cell, content) {
  [content].flat().forEach((part, index) => {
    const place = cell.children[index] ?? cell.appendChild(h("span", { class: index > 0 ? "under" : "" }));
    if (!(part instanceof Node)) put(place, part);
    else if (place.firstChild !== part) place.replaceChildren(part);
  });
}

/**
 * A table: `columns` are `[words, kind, tell]`, of which the kind `head` names its row. `tell(item, row)` gives the cell's content; what it
 * makes once it keeps in `row`, which knows its present `item`. On a narrow screen each row is a card, whose cells take their words along.
 */
export function table(caption, key, columns) {
  // The roles are said, for rows that are shown as cards are no rows to a browser by themselves.
  const body = h("tbody", { role: "rowgroup" });
  const header = columns.map(([words, kind = ""]) => (words ? h("th", { scope: "col", role: "columnheader", class: kind, text: words }) : h("td", { role: "cell" })));
  const node = h("div", { class: "scroll rows", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { role: "table" }, h("caption", { text: caption }), h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, header)), body));
  const make = () => {
    const cells = columns.map(([words, kind = ""]) => (kind === "head" ? h("th", { scope: "row", role: "rowheader" }) : h("td", { role: "cell", class: kind, data: { name: words } })));
    const row = { node: h("tr", { role: "row" }, cells) };
    return { row: row.node, update(item) {
      row.item = item;
      columns.forEach(([, , tell], index) => fill(cells[index], tell(item, row)));
    } };
  };
  return { node, body, show: rows(body, key, make) };
}

// What a row makes once.
export const chipOf = (row, words, kind) => rechip((row.chip ??= h("span")), words, kind);
export const timeOf = (row, text) => retime((row.time ??= h("time")), text);
export const serviceOf = (row, name) => (row.service ??= h("span", {}, h("span", { class: `key ${name}` }), serviceName(name)));

export function linkOf(row, href, words) {
  row.link ??= h("a");
  if (row.link.getAttribute("href") !== href) row.link.setAttribute("href", href);
  return put(row.link, words);
}

export function barOf(row, label, share, isOver) {
  row.bar ??= progress(`Progress of ${label}`);
  row.bar.show(share, isOver);
  return row.bar.node;
}

const listed = () => [...document.querySelectorAll("#main tbody tr[data-key]")].filter((row) => row.getClientRects().length > 0);
const isTyping = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, dialog[open]") !== null;
const where = () => location.hash.split("?")[0];

/** The row where the reader is: it is marked, and found again after a reload. */
function at(row) {
  for (const other of document.querySelectorAll("tr.is-at")) other.classList.toggle("is-at", other === row);
  row.classList.add("is-at");
  sessionStorage.setItem("pushline.console.at", JSON.stringify([where(), row.dataset.key]));
}

let mayRestore = true;

/** Where the reader was before a reload gets the focus again, as soon as it is there: once, and not where they have gone elsewhere. */
export function restore() {
  if (!mayRestore || listed().length === 0) return;
  mayRestore = false;
  const [page, key] = JSON.parse(sessionStorage.getItem("pushline.console.at") ?? "[]");
  const row = page === where() && listed().find((row) => row.dataset.key === key);
  if (row) focus(row);
}

function focus(row) {
  const target = row.querySelector("a") ?? row;
  if (target === row) row.tabIndex = -1;
  target.focus();
  row.scrollIntoView({ block: "nearest" });
  at(row);
}

const present = () => document.activeElement?.closest("tr[data-key]") ?? document.querySelector("tr.is-at");

function step(by) {
  const all = listed();
  const now = all.indexOf(present());
  const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, now + by))];
  if (next) focus(next);
}

/** j and k go down and up, x chooses, Enter opens, / goes to the first filter. */
export function listenToKeys() {
  addEventListener("hashchange", () => { mayRestore = false; });
  document.addEventListener("focusin", ({ target }) => {
    mayRestore = false;
    const row = target.closest("#main tbody tr[data-key]");
    if (row) at(row);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const row = present();
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x") row?.querySelector("input[type=checkbox]")?.click();
    else if (event.key === "Enter" && event.target === row) row.querySelector("a, button")?.click();
    else if (event.key === "/") {
      const first = document.querySelector("#main [data-search]");
      if (!first) return;
      event.preventDefault();
      first.focus();
    }
  });
}
