/**
 * The client of a thrifty service: decisions over HTTP, asked for again safely if answers are lost.
 *
 * For Node 18 or later and for browsers, without dependencies. Names are those of the client in
 * Python, in JavaScript's spelling. Types come from the service's own description (openapi.d.ts).
 */

/** @typedef {import("./openapi.d.ts").components["schemas"]} Schemas */
/** @typedef {Schemas["DecisionReply"]} Decision An arm to play, and why. */
/** @typedef {Schemas["DecisionDetail"]} Explanation A decision, its reward, and why it was taken. */
/** @typedef {Schemas["ExperimentReply"]} Info Settings, counts, estimates and history. */
/** @typedef {Schemas["ExperimentLine"]} Line An experiment in the list of all. */
/** @typedef {Schemas["ExperimentChange"]} Change A change of an experiment. */
/** @typedef {Omit<Schemas["NewExperiment"], "name">} Settings Of a new experiment. */
/** @typedef {Schemas["LogEntry"]} LogEntry An entry of an experiment's log. */
/** @typedef {ArrayLike<ArrayLike<number>>} Features A row per arm. */
/** @typedef {{[attribute: string]: unknown}} Attributes Of a visitor, by name. */
/** @typedef {string | Features | Attributes} Context The name of a listed one, or features. */
/** @typedef {{names?: string[], available?: string[], id?: string}} Asked Beside the context. */
/** @typedef {{context?: string | Attributes, features?: Features} & Asked} Request Of many. */
/** @typedef {"learned" | "already"} Learned */

/**
 * @template T
 * @typedef {object} Call A request, and how its reply is read
 * @property {string} method
 * @property {string} path
 * @property {(reply: any) => T} read throws Mismatch or TypeError for the reply to something else
 * @property {unknown} [body]
 * @property {boolean} [repeatable] whether making it twice does the same as once; true by default
 */

/**
 * @typedef {object} Failure An attempt that has failed
 * @property {ThriftyError} error what to throw if it was the last
 * @property {boolean} again whether there may be another one
 * @property {number} least seconds to wait before it, at least
 */

const FIRST_PAUSE = 0.1; // seconds, at most, after the first failure
const LONGEST_PAUSE = 5; // and after any
const LONGEST_TIMEOUT = 86_400;
const MOST_RETRIES = 1_000;
const REFUSED = [429, 503]; // the request was not carried out
const BROKEN = [502, 504]; // of a proxy, which has lost the server: as if the connection had broken
// what Node says if nothing was sent; browsers do not say why a request has failed
const NOT_SENT = [
  "EAI_AGAIN", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
];
const EXPERIMENTS = "/v1/experiments";
const SETTINGS = ["policy", "contexts", "dimension", "noise", "rewards", "seed", "expire", "map",
  "control", "floor"];
const ASKED = ["names", "available", "id"];

/** Base of all errors of this client; each message is one sentence. */
export class ThriftyError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The client has found a mistake, and has sent nothing. */
export class InvalidInput extends ThriftyError {}

/** There was no answer. */
export class Unreachable extends ThriftyError {}

/** The service has refused a request, or what came is not its answer to this request. */
export class ServiceError extends ThriftyError {
  /**
   * @param {string} message
   * @param {{status: number, where?: string}} about status of HTTP, and the part of the request
   */
  constructor(message, { status, where = "" }) {
    super(where ? `${where}: ${message}` : message);
    this.status = status;
    this.where = where;
  }
}

/** A reply to another request. */
class Mismatch extends Error {}

/** A connection to a service. */
export class Client {
  #connection;

  /**
   * @param {string} url of the service, such as http://127.0.0.1:8080; in a page "/" is its own
   * @param {{token?: string, timeout?: number, retries?: number}} [options]
   *   token: as `thrifty tokens make` has printed it. timeout: seconds for each attempt, 10 by
   *   default. retries: attempts after the first, 5 by default; all together take at most
   *   (retries + 1) * timeout seconds, and the last of them its own timeout
   */
  constructor(url, options = {}) {
    checkOptions("Client", options, ["token", "timeout", "retries"]);
    this.#connection = new Connection(url, options);
  }

  /** All experiments that are not archived. @returns {Promise<Line[]>} */
  experiments() {
    const read = (/** @type {any} */ reply) => asList(reply).map(asObject);
    return this.#connection.send({ method: "GET", path: EXPERIMENTS, read });
  }

  /**
   * Make an experiment.
   *
   * @param {string} name
   * @param {Partial<Settings>} settings contexts: listed ones, with their arms; or dimension: how
   *   many features arms will have. policy, noise, rewards, seed, expire: as for the service
   * @returns {Promise<Experiment>}
   */
  create(name, settings) {
    checkOptions("create", settings, SETTINGS);
    const read = (/** @type {any} */ reply) => this.experiment(asExperiment(reply, name).name);
    const body = { ...settings, name };
    return this.#connection.send({
      method: "POST", path: EXPERIMENTS, read, body, repeatable: false,
    });
  }

  /** An experiment by name; nothing is sent. @param {string} name */
  experiment(name) {
    return new Experiment(this.#connection, name);
  }
}

/** An experiment of a service: `client.experiment(name)` makes one. */
export class Experiment {
  #connection;
  #path;

  /**
   * @param {Connection} connection
   * @param {string} name
   */
  constructor(connection, name) {
    this.name = name;
    this.#connection = connection;
    this.#path = `${EXPERIMENTS}/${pathPart(name, "experiment")}`;
  }

  /**
   * Choose an arm.
   *
   * @param {Context} context the name of a listed context; or features, a row per arm
   * @param {Asked} [options] names: of the arms. available: names of the arms on offer. id: of the
   *   decision, a new UUID by default
   * @returns {Promise<Decision>}
   */
  async choose(context, options = {}) {
    checkOptions("choose", options, ASKED);
    const body = decisionBody({ ...options, ...contextBody(context) }, "");
    const read = (/** @type {any} */ reply) => asDecision(reply, body.id);
    return this.#connection.send({ method: "POST", path: `${this.#path}/decisions`, read, body });
  }

  /**
   * Several decisions at once, all or none; at most 1,000.
   *
   * @param {(string | Features | Request)[]} contexts of each the name or the features, or an
   *   object with context or features, and perhaps names, available and id
   * @returns {Promise<Decision[]>}
   */
  async chooseMany(contexts) {
    const bodies = items(contexts, "contexts").map((context, i) => {
      const where = `[${i}].`;
      const many = typeof context === "string" || isArray(context);
      const asked = many ? contextBody(context) : asObject(context);
      checkOptions(`contexts[${i}]`, asked, ["context", "features", ...ASKED]);
      return decisionBody(asked, where);
    });
    const read = (/** @type {any} */ reply) =>
      parts(reply, bodies.length).map((part, i) => asDecision(part, bodies[i].id));
    const path = `${this.#path}/decisions`;
    return this.#connection.send({ method: "POST", path, read, body: bodies });
  }

  /**
   * Report the reward of a decision, or of its id: `learned`, or `already` if it was known.
   *
   * @param {Decision | string} decision
   * @param {number | boolean} reward
   * @returns {Promise<Learned>}
   */
  async learn(decision, reward) {
    const body = rewardBody(decision, reward, "");
    const read = (/** @type {any} */ reply) => asReward(reply, body.decision);
    return this.#connection.send({ method: "POST", path: `${this.#path}/rewards`, read, body });
  }

  /**
   * Report pairs of a decision and its reward, all or none; at most 1,000.
   *
   * @param {[Decision | string, number | boolean][]} rewards
   * @returns {Promise<Learned[]>}
   */
  async learnMany(rewards) {
    const bodies = items(rewards, "rewards").map((pair, i) => {
      const [decision, reward] = items(pair, `[${i}]`);
      return rewardBody(decision, reward, `[${i}].`);
    });
    const read = (/** @type {any} */ reply) =>
      parts(reply, bodies.length).map((part, i) => asReward(part, bodies[i].decision));
    const path = `${this.#path}/rewards`;
    return this.#connection.send({ method: "POST", path, read, body: bodies });
  }

  /**
   * Why an arm was chosen, with the present estimates, and what became of the decision.
   *
   * @param {Decision | string} decision
   * @returns {Promise<Explanation>}
   */
  async explain(decision) {
    const id = idOf(decision, "");
    const path = `${this.#path}/decisions/${pathPart(id, "decision")}`;
    const read = (/** @type {any} */ reply) => {
      asDecision(asObject(reply).decision, id);
      return reply;
    };
    return this.#connection.send({ method: "GET", path, read });
  }

  /** Settings, counts, estimates and history. @returns {Promise<Info>} */
  async info() {
    const read = (/** @type {any} */ reply) => asExperiment(reply, this.name);
    return this.#connection.send({ method: "GET", path: this.#path, read });
  }

  /**
   * Change policy, expire, status, or arms and contexts, all or nothing.
   *
   * @param {Change} changes
   * @returns {Promise<Info>}
   */
  async change(changes) {
    const read = (/** @type {any} */ reply) => asExperiment(reply, this.name);
    // only another status may be asked for twice
    const repeatable = Object.keys(changes).every((key) => key === "status");
    return this.#connection.send({
      method: "PATCH", path: this.#path, read, body: changes, repeatable,
    });
  }

  /** Take no decisions until `resume`; rewards are still learned. @returns {Promise<Info>} */
  pause() {
    return this.change({ status: "paused" });
  }

  /** Take decisions again. @returns {Promise<Info>} */
  resume() {
    return this.change({ status: "active" });
  }

  /** End the experiment; its log stays. @returns {Promise<Info>} */
  archive() {
    return this.change({ status: "archived" });
  }

  /**
   * All entries of the log after a sequence number, in order, a page at a time.
   *
   * @param {number} [after]
   * @returns {AsyncGenerator<LogEntry, void, void>}
   */
  async *log(after = 0) {
    if (!Number.isSafeInteger(after) || after < 0) {
      throw expected("after", "a whole number of at least 0", after);
    }
    for (let last = after; ;) {
      const path = `${this.#path}/log?after=${last}&format=json`;
      const read = (/** @type {any} */ reply) => asPage(reply, last);
      const page = await this.#connection.send({ method: "GET", path, read });
      if (page.length === 0) return;
      yield* page;
      last = page[page.length - 1].seq;
    }
  }
}

/** Where the service is, and what to do about each outcome of a request. */
class Connection {
  /** @type {Record<string, string>} */
  #authorization = {};

  /**
   * @param {string} url
   * @param {{token?: string, timeout?: number, retries?: number}} options
   */
  constructor(url, { token, timeout = 10, retries = 5 }) {
    if (token !== undefined && !(typeof token === "string" && /^[!-~]+$/.test(token))) {
      throw new InvalidInput("token: must be letters, digits and signs, without spaces");
    }
    if (typeof timeout !== "number" || !(timeout > 0 && timeout <= LONGEST_TIMEOUT)) {
      throw expected("timeout", "seconds above 0, at most 86,400", timeout);
    }
    if (!Number.isInteger(retries) || retries < 0 || retries > MOST_RETRIES) {
      throw expected("retries", "a whole number from 0 to 1,000", retries);
    }
    this.url = checkedAddress(url);
    this.timeout = timeout;
    this.retries = retries;
    if (token !== undefined) this.#authorization = { Authorization: `Bearer ${token}` };
  }

  /**
   * Send a request, perhaps several times, and read the reply.
   *
   * @template T
   * @param {Call<T>} call
   * @returns {Promise<T>}
   */
  async send(call) {
    const until = now() + (this.retries + 1) * this.timeout;
    for (let left = this.retries, pause = FIRST_PAUSE; ; left -= 1) {
      const outcome = await this.#attempt(call);
      if ("read" in outcome) return outcome.read;
      // clients that failed together do not come back together
      const wait = outcome.least + (0.5 + Math.random() / 2) * pause;
      if (!outcome.again || left === 0 || now() + wait > until) throw outcome.error;
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  /**
   * @template T
   * @param {Call<T>} call
   * @returns {Promise<{read: T} | Failure>}
   */
  async #attempt(call) {
    const aborting = new AbortController();
    const timer = setTimeout(() => aborting.abort(), this.timeout * 1000);
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json", ...this.#authorization };
    /** @type {RequestInit} */
    const init = { method: call.method, headers, signal: aborting.signal, redirect: "manual" };
    if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(call.body);
    }
    try {
      const reply = await fetch(this.url + call.path, init);
      return readReply(call, reply, await reply.text());
    } catch (error) {
      return this.#noReply(call, error, aborting.signal.aborted);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * An attempt that got no reply; it is the last where a repetition could do harm.
   *
   * @param {Call<any>} call
   * @param {any} error
   * @param {boolean} late
   * @returns {Failure}
   */
  #noReply(call, error, late) {
    const cause = error?.cause ?? error;
    const what = late ? `no answer within ${this.timeout} s` : String(cause.message || cause.code);
    const sent = late || !NOT_SENT.includes(cause.code);
    if (sent && call.repeatable === false) {
      const message = `${this.url}: ${what}; whether the change was made is not known`;
      return { error: new Unreachable(message), again: false, least: 0 };
    }
    const hint = sent ? "" : "; is the service running there?";
    return { error: new Unreachable(`${this.url}: ${what}${hint}`), again: true, least: 0 };
  }
}

/**
 * What a reply says.
 *
 * @template T
 * @param {Call<T>} call
 * @param {Response} reply
 * @param {string} text its content
 * @returns {{read: T} | Failure}
 */
function readReply(call, reply, text) {
  const { status } = reply;
  const again = REFUSED.includes(status) || (BROKEN.includes(status) && call.repeatable !== false);
  const least = Math.max(0, Number(reply.headers.get("retry-after")) || 0);
  try {
    if (reply.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      throw new TypeError("it leads to another address");
    }
    const content = JSON.parse(text);
    if (reply.ok) return { read: call.read(content) };
    const { where, message } = asObject(asObject(content).error);
    return { error: refusal(String(message), status, String(where)), again, least };
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    if (error instanceof Mismatch) {
      const unused = new ServiceError(`${message}; it was not used`, { status });
      return { error: unused, again: false, least };
    }
    const why = error instanceof SyntaxError ? "it is not JSON" : message;
    const other = `not an answer of a thrifty service (status ${status}): ${why}`;
    return { error: new ServiceError(other, { status }), again, least };
  }
}

/**
 * The error of a service.
 *
 * @param {string} message
 * @param {number} status
 * @param {string} where
 */
function refusal(message, status, where) {
  const advice = status === 401 && message.includes("is needed") ? "; pass one as {token}" : "";
  return new ServiceError(message + advice, { status, where });
}

// What users pass, as JSON

/** @param {any} context @returns {Request} */
function contextBody(context) {
  return isArray(context) ? { features: context } : { context };
}

/** @param {Request} asked @param {string} where */
function decisionBody(asked, where) {
  const { id = newId(), context, features, names, available } = asked;
  if (typeof id !== "string") throw expected(`${where}id`, "text", id);
  if (context === undefined && features === undefined) {
    throw new InvalidInput(`${where}context: pass the name of a context, or features`);
  }
  if (context !== undefined && typeof context !== "string" && !isPlain(context)) {
    throw expected(`${where}context`, "the name of a context, or features", context);
  }
  const rows = features === undefined ? {} : { features: numbers(features, `${where}features`) };
  return { id, context, ...rows, names, available };
}

/** @param {Features} features @param {string} where */
function numbers(features, where) {
  return Array.from(features, (row, n) => {
    if (!isArray(row)) throw expected(`${where}[${n}]`, "a list of numbers", row);
    return Array.from(row, (value, i) => {
      if (Number.isFinite(value)) return value; // JSON would have null
      throw expected(`${where}[${n}][${i}]`, "a finite number", value);
    });
  });
}

/** @param {any} decision @param {any} reward @param {string} where */
function rewardBody(decision, reward, where) {
  const number = typeof reward === "boolean" ? Number(reward) : reward;
  if (!Number.isFinite(number)) throw expected(`${where}reward`, "a finite number", reward);
  return { decision: idOf(decision, where), reward: number };
}

/** @param {Decision | string} decision @param {string} where */
function idOf(decision, where) {
  const id = typeof decision === "string" ? decision : decision?.id;
  if (typeof id === "string") return id;
  throw expected(`${where}decision`, "a decision or its id", decision);
}

/** @param {any} list @param {string} where @returns {any[]} */
function items(list, where) {
  if (Array.isArray(list)) return list;
  throw expected(where, "a list", list);
}

/** @param {string} where @param {any} options @param {string[]} known */
function checkOptions(where, options, known) {
  if (!isPlain(options)) throw expected(where, "options such as {id: \"...\"}", options);
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new InvalidInput(`${where}: unknown option '${unknown}'; known: ${known.join(", ")}`);
  }
}

/** A name as a part of a path. @param {string} name @param {string} where */
function pathPart(name, where) {
  if (typeof name === "string" && name.replaceAll(".", "") !== "") {
    try {
      return encodeURIComponent(name);
    } catch { // surrogates
    }
  }
  throw expected(where, "a name", name);
}

/** @param {string} url */
function checkedAddress(url) {
  const example = "url: pass an address such as http://127.0.0.1:8080";
  let parsed;
  try {
    parsed = new URL(url, globalThis.location?.href);
  } catch {
    throw new InvalidInput(example);
  }
  const { protocol, username, password, search, hash } = parsed;
  if (username || password || search || hash) {
    throw new InvalidInput(`${example}, without user, query or fragment`);
  }
  if (protocol !== "http:" && protocol !== "https:") throw new InvalidInput(example);
  return parsed.href.replace(/\/+$/, "");
}

/** @param {any} value */
function isArray(value) {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** @param {any} value */
function isPlain(value) {
  return typeof value === "object" && value !== null && !isArray(value);
}

/** @param {string} where @param {string} what @param {unknown} got */
function expected(where, what, got) {
  let text;
  try { // JSON has null for NaN and infinity
    text = typeof got === "object" && got !== null ? JSON.stringify(got) : String(got);
  } catch {
    text = typeof got;
  }
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  return new InvalidInput(`${where}: ${what} expected, got ${shown}`);
}

// What the service answers

/** @param {any} reply @returns {any} */
function asObject(reply) {
  if (isPlain(reply)) return reply;
  throw new TypeError("it has another form");
}

/** @param {any} reply @returns {any[]} */
function asList(reply) {
  if (Array.isArray(reply)) return reply;
  throw new TypeError("it has another form");
}

/** @param {string} what @param {unknown} asked @param {unknown} came */
function checkSame(what, asked, came) {
  if (asked === came) return;
  throw new Mismatch(`the answer is about ${what} '${came}' instead of '${asked}'`);
}

/** @param {any} reply @param {string} id @returns {Decision} */
function asDecision(reply, id) {
  const { arm, name, seq } = asObject(reply);
  if (!Number.isInteger(arm) || typeof name !== "string" || !Number.isInteger(seq)) {
    throw new TypeError("it has another form");
  }
  checkSame("decision", id, reply.id);
  return reply;
}

/** @param {any} reply @param {string} id @returns {Learned} */
function asReward(reply, id) {
  const { decision, status } = asObject(reply);
  checkSame("decision", id, decision);
  if (status === "learned" || status === "already") return status;
  throw new TypeError("it has another form");
}

/** @param {any} reply @param {string} name @returns {Info} */
function asExperiment(reply, name) {
  checkSame("experiment", name, asObject(reply).name);
  return reply;
}

/** @param {any} reply @param {number} count */
function parts(reply, count) {
  if (asList(reply).length === count) return asList(reply);
  throw new Mismatch(`the answer has ${reply.length} parts instead of ${count}`);
}

/** @param {any} reply @param {number} after @returns {LogEntry[]} */
function asPage(reply, after) {
  let last = after;
  for (const { seq } of asList(reply)) {
    if (!(seq > last)) throw new Mismatch(`the answer has entry ${seq} after entry ${last}`);
    last = seq;
  }
  return reply;
}

// Ids of decisions: UUIDs of version 7 (RFC 9562), which sort by the time they were made

let lastTime = 0; // milliseconds since 1970
let lastFraction = 0; // of 4096 parts of a millisecond

/** A UUID above all that were made here before. */
export function newId() {
  const time = Date.now();
  if (time > lastTime) {
    [lastTime, lastFraction] = [time, 0];
  } else if (lastFraction < 4095) {
    lastFraction += 1;
  } else {
    [lastTime, lastFraction] = [lastTime + 1, 0];
  }
  const hex = (/** @type {number} */ number, /** @type {number} */ digits) =>
    number.toString(16).padStart(digits, "0");
  const random = Array.from(randomBytes(8), (byte) => hex(byte, 2)).join("");
  const variant = "89ab"[parseInt(random[0], 16) % 4];
  const ms = hex(lastTime, 12);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${hex(lastFraction, 3)}-${variant}${random.slice(1, 4)}`
    + `-${random.slice(4)}`;
}

/** @param {number} count */
function randomBytes(count) {
  const bytes = new Uint8Array(count);
  // Node 18 has no global crypto: its ids are then distinct, but not secret
  if (globalThis.crypto) return globalThis.crypto.getRandomValues(bytes);
  return bytes.map(() => Math.floor(256 * Math.random()));
}

/** Seconds, of a clock that is never put back. */
function now() {
  return performance.now() / 1000;
}
