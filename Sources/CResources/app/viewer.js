// What "More" opens: the content of a rich notification, which its addressee alone can fetch. Most of it is pictures, and any media type may come.

import { call } from "./api.js";
import { text } from "./texts.js";

const seen = (id) => document.getElementById(id);
let shown;

/** Forgets what was shown, and closes. */
export function clear() {
  const [picture, words, file] = [seen("viewer-picture"), seen("viewer-text"), seen("viewer-file")];
  if (shown) URL.revokeObjectURL(shown);
  shown = undefined;
  picture.hidden = words.hidden = file.hidden = true;
  picture.removeAttribute("src");
  file.removeAttribute("href");
  words.textContent = "";
  if (seen("viewer").open) seen("viewer").close();
}

/** A secure notification's text is in an object of the API's; other JSON is what somebody uploaded. */
function words(content, id) {
  try {
    const value = JSON.parse(content);
    if (value?.Id === Number(id) && typeof value.Payload === "string") return value.Payload;
  } catch {
    // Text of another kind.
  }
  return content;
}

/** Shows what it is, or why it cannot be shown; throws where nobody is signed in. */
export async function show(id) {
  clear();
  let title = "text";
  try {
    const answer = await call("GET", `notifications/${encodeURIComponent(id)}`);
    const type = answer.headers.get("Content-Type") ?? "";
    if (type.startsWith("image/")) {
      title = "picture";
      shown = URL.createObjectURL(await answer.blob());
      Object.assign(seen("viewer-picture"), { src: shown, alt: text("pictureOf", { id }), hidden: false });
    } else if (type.startsWith("text/") || type.startsWith("application/json")) {
      const content = await answer.text();
      Object.assign(seen("viewer-text"), { textContent: type.startsWith("text/") ? content : words(content, id), hidden: false });
    } else {
      // Without its type: a browser must not open a stranger's file as a page of ours.
      shown = URL.createObjectURL(new Blob([await answer.blob()], { type: "application/octet-stream" }));
      Object.assign(seen("viewer-file"), { href: shown, download: `notification-${id}`, hidden: false });
    }
  } catch (error) {
    if (error.status === 401) throw error;
    Object.assign(seen("viewer-text"), { textContent: text("failed", { reason: error.message }), hidden: false });
  }
  seen("viewer-title").textContent = text(title);
  if (!seen("viewer").open) seen("viewer").showModal();
}
