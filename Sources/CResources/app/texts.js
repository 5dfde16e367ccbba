// The page's words, in the language that the reader chose or the browser asks for.

const languages = ["en", "es", "fr", "zh-Hans", "zh-Hant"];
const chosen = "pushline.language";
let texts = {};

export let language = "en";

/** The language of ours that a tag of BCP 47 asks for, if any. */
export function match(tag) {
  const parts = tag.toLowerCase().split("-");
  if (parts[0] === "zh") {
    const isTraditional = parts.includes("hant") || (!parts.includes("hans") && parts.some((part) => ["tw", "hk", "mo"].includes(part)));
    return isTraditional ? "zh-Hant" : "zh-Hans";
  }
  return languages.find((known) => known === parts[0]);
}

export async function load(wanted) {
  if (wanted) localStorage.setItem(chosen, wanted);
  const tags = [localStorage.getItem(chosen), ...navigator.languages].filter(Boolean);
  language = tags.map(match).find(Boolean) ?? "en";
  const answer = await fetch(`texts-${language}.json`);
  if (!answer.ok) throw new Error(`texts-${language}.json: HTTP ${answer.status}`);
  texts = await answer.json();
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
}

/** A text by its name, with `{…}` replaced by values. */
export function text(name, values = {}) {
  return (texts[name] ?? name).replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}
