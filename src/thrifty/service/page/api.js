// Requests to the service. Paths are relative, so that the page works under any prefix.

const TOKEN = "thrifty-token";

/** The server has answered with an error. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  get needsToken() {
    return this.status === 401 || this.status === 403;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** The path of an experiment, or of something below it. */
export function path(name, below = "") {
  return `v1/experiments/${encodeURIComponent(name)}${below}`;
}

export async function get(where, signal) {
  return (await request(where, { signal })).json();
}

export async function change(name, body) {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "PATCH", headers, body: JSON.stringify(body) };
  return (await request(path(name), options)).json();
}

/** Saves a file that only a token can fetch: a plain link would not send it. */
export async function download(where, filename) {
  save(await (await request(where, {})).blob(), filename);
}

/** Saves all entries of a log as JSON: the service answers with a page of them at a time. */
export async function downloadEntries(where, filename) {
  const parts = [];
  for (let after = 0, page; ; after = page.at(-1).seq) {
    const text = await (await request(`${where}&after=${after}`, {})).text();
    page = JSON.parse(text);
    if (page.length === 0) break;
    parts.push(text.trim().slice(1, -1)); // as it came: it may have numbers that are too long here
  }
  save(new Blob([`[${parts.join(",\n")}]\n`], { type: "application/json" }), filename);
}

function save(blob, filename) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

async function request(where, options) {
  const headers = { ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const response = await fetch(where, { ...options, headers, cache: "no-store" });
  if (!response.ok) throw new Refused(response.status, await reason(response));
  return response;
}

async function reason(response) {
  try {
    const { where, message } = (await response.json()).error;
    return where ? `${where}: ${message}` : message;
  } catch {
    return `the server answered ${response.status}`;
  }
}
