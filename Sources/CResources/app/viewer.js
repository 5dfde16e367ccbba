// What "More" opens: the picture of a rich notification, which its addressee alone can fetch.

import { call } from "./api.js";
import { text } from "./texts.js";

const seen = (id) => document.getElementById(id);
let shown;

export async function show(id) {
  const [picture, words] = [seen("viewer-picture"), seen("viewer-text")];
  if (shown) URL.revokeObjectURL(shown);
  shown = undefined;
  picture.hidden = words.hidden = true;
  seen("viewer-title").textContent = text("picture");
  try {
    const answer = await call("GET", `notifications/${encodeURIComponent(id)}`);
    if (answer.headers.get("Content-Type")?.startsWith("image/")) {
      shown = URL.createObjectURL(await answer.blob());
      Object.assign(picture, { src: shown, alt: text("pictureOf", { id }), hidden: false });
    } else {
      Object.assign(words, { textContent: (await answer.json()).Payload, hidden: false });
    }
  } catch (error) {
    Object.assign(words, { textContent: text("failed", { reason: error.message }), hidden: false });
  }
  if (!seen("viewer").open) seen("viewer").showModal();
}
