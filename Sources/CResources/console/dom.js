// Elements without markup: whatever comes from others is text, and nothing here makes markup of it.

const names = { svg: "http://www.w3.org/2000/svg" };

/** Sets properties: `on` listens, `data` is the dataset, `text` the content, false and null are left out, all else is an attribute. */
function apply(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") for (const [event, work] of Object.entries(value)) element.addEventListener(event, work);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "text") element.textContent = value;
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** An element with its properties and children; a child is a node or a text, and null is none. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  apply(element, properties);
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of SVG. */
export function s(name, properties = {}, ...children) {
  const element = document.createElementNS(names.svg, name);
  apply(element, properties);
  element.append(...children);
  return element;
}

export const seen = (id) => document.getElementById(id);

/** Says something else where it is something else: what stays as it is does not flicker, and is not spoken again. */
export function put(element, text) {
  const words = String(text ?? "");
  if (element.textContent !== words) element.textContent = words;
  return element;
}

/** Shows or hides. */
export function show(element, isShown) {
  if (element.hidden === Boolean(isShown)) element.hidden = !isShown;
  return element;
}

/**
 * Rows that stay: each is known by its key, so that what has the focus or is chosen keeps it while others come and go. `make` gives
 * `{ row, update }`.
 */
export function rows(parent, key, make) {
  const known = new Map();
  return (items) => {
    const wanted = new Set(items.map(key));
    for (const [id, { row }] of known) {
      if (wanted.has(id)) continue;
      row.remove();
      known.delete(id);
    }
    let place = parent.firstElementChild;
    for (const item of items) {
      const id = key(item);
      let entry = known.get(id);
      if (!entry) {
        entry = make(item);
        entry.row.dataset.key = id;
        known.set(id, entry);
      }
      entry.update?.(item);
      if (entry.row === place) place = place.nextElementSibling;
      else parent.insertBefore(entry.row, place);
    }
  };
}
