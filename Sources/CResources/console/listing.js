// A list in pieces: the newest first, older ones when they are asked for, and what it says where it has nothing.

import { h, put, show } from "./dom.js";
import { act, button, empty, faultLine, piece, poll, reason } from "./page.js";
import { restore } from "./table.js";

/**
 * Shows the list at a path of the API, filtered by `values`. `nothing` and `noMatch` are the title and words of an empty list; with
 * `seconds` its beginning is asked for again, and what was there stays. `key` tells one item from another. `counted` says above the list
 * how many it has.
 */
export function listing({ list, path, values, signal, seconds, nothing, noMatch = nothing, limit = 50, key = ({ id }) => id, counted = () => "" }) {
  const [fault, none, count] = [faultLine(), h("div"), h("p", { class: "quiet-text", role: "status" })];
  const more = button("More", "quiet small", (element) => act(element, async () => {
    const found = await piece(path, { ...values, limit, cursor });
    [items, cursor] = [[...items, ...found.items], found.cursor];
    render();
  }));
  let [items, cursor, round] = [[], undefined, 0];
  list.node.append(h("div", { class: "more" }, more));

  function render() {
    list.show(items);
    show(list.node, items.length > 0);
    show(none, items.length === 0);
    put(count, items.length > 0 ? counted(items.length, cursor === undefined) : "");
    show(more.parentElement, cursor);
    if (items.length === 0) none.replaceChildren(empty(...(Object.values(values).some(Boolean) ? noMatch : nothing)));
  }

  async function look() {
    const mine = (round += 1);
    const now = await piece(path, { ...values, limit });
    // Another question was asked meanwhile, or the page was left.
    if (mine !== round || signal.aborted) return;
    put(fault, "");
    const found = new Set(now.items.map(key));
    if (items.length === 0) cursor = now.cursor;
    items = [...now.items, ...items.filter((item) => !found.has(key(item)))];
    render();
    restore();
  }

  const refused = (error) => {
    put(fault, reason(error));
    show(list.node, false);
    show(none, false);
  };
  show(list.node, false);
  /** Other filters, and the list begins anew. */
  const anew = () => {
    items = [];
    return look().catch(refused);
  };
  if (seconds) poll(signal, seconds, look, refused);
  return { node: h("div", { class: "stack" }, fault, count, list.node, none), anew };
}
