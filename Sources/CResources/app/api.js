// The API as pages speak it, the app's and the console's: calls, and a job's events.

let base;
export let configuration;

/** Reads what the page in that folder must know before anybody signs in. */
export async function configure(folder = "app") {
  const answer = await fetch("config.json");
  if (!answer.ok) throw await problem(answer);
  configuration = await answer.json();
  // Relative, for a proxy may have put something before our paths.
  const isNamed = location.pathname.endsWith(`/${folder}/${configuration.app}/`);
  base = new URL(isNamed ? `../../api/apps/${encodeURIComponent(configuration.app)}/` : "../api/", location.href).href;
}

export const url = (path) => new URL(path, base).href;

/** What went wrong, in words: the answer's own where it has some. */
async function problem(answer) {
  let detail = "";
  let type;
  if (answer.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    const body = await answer.json();
    type = body.type;
    detail = (body.errors ?? []).map(({ member, reason }) => (member ? `${member}: ${reason}` : reason)).find(Boolean) ?? body.detail ?? body.title ?? "";
  }
  return Object.assign(new Error(detail ? `${answer.status}: ${detail}` : String(answer.status)), { status: answer.status, type });
}

/** A call; whatever is not a success is thrown, with its `status`, and the `type` of the problem where it has one. */
export async function call(method, path, body, headers = {}) {
  const request = { method, credentials: "same-origin", cache: "no-store", headers };
  if (body !== undefined) {
    request.headers = { ...headers, "Content-Type": "application/json;charset=utf-8" };
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(url(path), request);
  if (!answer.ok) throw await problem(answer);
  return answer;
}

/**
 * A browser has six connections a host over HTTP/1.1, for all of its tabs, and a stream takes one for as long as its job runs: so there are
 * two places for streams, which are locks of the browser's and not of one tab's. They are free again when their tab is gone.
 */
const places = ["pushline.stream.1", "pushline.stream.2"];
let watching = new AbortController();

/** Nobody watches any job any more. */
export function unwatch() {
  watching.abort();
  watching = new AbortController();
}

/** Tells of each change of a job until it is final, whatever happens to the connection: by its events where a place is free, else by looks. */
export async function watch(id, tell) {
  const { signal } = watching;
  const path = `jobs/${encodeURIComponent(id)}`;
  let isOver = false;
  const told = (job, error) => {
    if (isOver || signal.aborted) return;
    isOver = job === undefined || job.isFinal;
    tell(job, error);
  };
  while (!isOver && !signal.aborted) {
    await inPlace(() => listen(path, told, signal));
    if (!isOver && !signal.aborted) await look(path, told);
    if (!isOver) await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

/** Does the work in a place, where one is free. */
async function inPlace(work) {
  for (const place of places) {
    const isTaken = await navigator.locks?.request(place, { ifAvailable: true }, async (lock) => {
      if (lock) await work();
      return lock !== null;
    });
    if (isTaken) return;
  }
}

/** Listens until the job is final, or there is no stream to be had. */
function listen(path, tell, signal) {
  return new Promise((resolve) => {
    const stream = new EventSource(url(`${path}/events`));
    const end = () => {
      stream.close();
      resolve();
    };
    if (signal.aborted) return end();
    signal.addEventListener("abort", end);
    stream.addEventListener("job", (event) => {
      const job = JSON.parse(event.data);
      tell(job);
      if (job.isFinal) end();
    });
    // A browser comes again by itself after a cut, and not after an answer such as 503.
    stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) resolve(); });
  });
}

async function look(path, tell) {
  try {
    tell(await (await call("GET", path)).json());
  } catch (error) {
    // Else it may be better at the next look.
    if ([401, 403, 404].includes(error.status)) tell(undefined, error);
  }
}
