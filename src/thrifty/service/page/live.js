// Repeated requests: every 2 s while the document is visible, after errors less and less often.

const EVERY = 2_000;
const SLOWEST = 30_000;
const PATIENCE = 20_000; // until a request without an answer counts as an error

/**
 * Calls `load(signal)` again and again, and `show` with what it gives. `report(error, since)` is
 * called after each attempt, with null after success, else with the time of the first error in a
 * row.
 */
export class Poll {
  #load;
  #show;
  #report;
  #timer;
  #request;
  #wait = EVERY;
  #since = null;
  #seen = () => document.visibilityState === "visible" && this.now();

  constructor(load, show, report) {
    this.#load = load;
    this.#show = show;
    this.#report = report;
    document.addEventListener("visibilitychange", this.#seen);
    this.now();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    document.removeEventListener("visibilitychange", this.#seen);
  }

  /** Load at once; a request under way is given up. */
  async now() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    let failure = null;
    let data;
    try {
      data = await this.#load(AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE)]));
    } catch (error) {
      failure = error;
    }
    if (request.signal.aborted) return; // another request has taken its place
    this.#wait = failure ? Math.min(2 * this.#wait, SLOWEST) : EVERY;
    this.#since = failure ? (this.#since ?? Date.now()) : null;
    this.#report(failure, this.#since);
    this.#timer = setTimeout(() => this.#again(), this.#wait);
    if (!failure) this.#show(data);
  }

  #again() {
    if (document.visibilityState === "visible") this.now(); // else #seen will
  }
}
