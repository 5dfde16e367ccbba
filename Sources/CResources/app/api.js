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
    detail = (body.errors ?? []).map((error) => error.detail).find(Boolean) ?? body.detail ?? body.title ?? "";
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

/** Tells of each change of a job until it is final; whatever happens to the connection. */
export function watch(id, tell) {
  const source = new EventSource(url(`jobs/${encodeURIComponent(id)}/events`));
  source.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    if (job.isFinal) source.close();
    tell(job);
  });
  source.addEventListener("error", () => {
    // A browser comes again by itself after a cut, and not after an answer such as 503.
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(async () => {
      try {
        const job = await (await call("GET", `jobs/${encodeURIComponent(id)}`)).json();
        tell(job);
        if (!job.isFinal) watch(id, tell);
      } catch (error) {
        if ([401, 403, 404].includes(error.status)) tell(undefined, error);
        else watch(id, tell);
      }
    }, 2000);
  });
}
