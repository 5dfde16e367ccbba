// The API as the page speaks it: the classic routes, the session, and a job's events.

let base;
export let configuration;

/** Reads what the page must know before anybody signs in. */
export async function configure() {
  const answer = await fetch("config.json");
  if (!answer.ok) throw await problem(answer);
  configuration = await answer.json();
  // Relative, for a proxy may have put something before our paths.
  const isNamed = location.pathname.endsWith(`/app/${configuration.app}/`);
  base = new URL(isNamed ? `../../api/apps/${encodeURIComponent(configuration.app)}/` : "../api/", location.href).href;
}

export const url = (path) => new URL(path, base).href;

/** What went wrong, in words: the answer's own where it has some. */
async function problem(answer) {
  let detail = "";
  if (answer.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    const body = await answer.json();
    detail = (body.errors ?? []).map(({ member, reason }) => (member ? `${member}: ${reason}` : reason)).find(Boolean) ?? body.detail ?? body.title ?? "";
  }
  return Object.assign(new Error(detail ? `${answer.status}: ${detail}` : String(answer.status)), { status: answer.status });
}

/** A call; whatever is not a success is thrown, with its `status`. */
export async function call(method, path, body) {
  const request = { method, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    request.headers = { "Content-Type": "application/json;charset=utf-8" };
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(url(path), request);
  if (!answer.ok) throw await problem(answer);
  return answer;
}

/** A browser has six connections a host over HTTP/1.1, for all of its tabs: every stream takes one for as long as its job runs. */
const maximumStreams = 2;
const streams = new Set();
/** Changes when whoever watched has gone. */
let watcher = {};

/** Tells of each change of a job until it is final; whatever happens to the connection. */
export const watch = (id, tell) => follow(id, tell, watcher);

/** Nobody watches any job any more. */
export function unwatch() {
  for (const stream of streams) stream.close();
  streams.clear();
  watcher = {};
}

/** By its events where a stream is free; else it is looked at, until one is. */
function follow(id, tell, owner) {
  if (owner !== watcher) return;
  const lookSoon = () => setTimeout(look, 2000, id, tell, owner);
  if (streams.size >= maximumStreams) {
    lookSoon();
    return;
  }
  const stream = new EventSource(url(`jobs/${encodeURIComponent(id)}/events`));
  streams.add(stream);
  stream.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    if (job.isFinal) {
      stream.close();
      streams.delete(stream);
    }
    tell(job);
  });
  stream.addEventListener("error", () => {
    // A browser comes again by itself after a cut, and not after an answer such as 503.
    if (stream.readyState !== EventSource.CLOSED) return;
    // Closed at the job's end or by `unwatch`, it is no longer one of them.
    if (streams.delete(stream)) lookSoon();
  });
}

async function look(id, tell, owner) {
  if (owner !== watcher) return;
  try {
    const job = await (await call("GET", `jobs/${encodeURIComponent(id)}`)).json();
    if (owner !== watcher) return;
    tell(job);
    if (job.isFinal) return;
  } catch (error) {
    if ([401, 403, 404].includes(error.status)) {
      if (owner === watcher) tell(undefined, error);
      return;
    }
  }
  follow(id, tell, owner);
}
