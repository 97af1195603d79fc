// What the server tells, asked for again and again; and curves, of which only the new points come.

const PAUSE = 750;
const HIDDEN = 20_000;
const PATIENCE = 8_000;
const SLOWEST = 8_000;
const POINTS_MAX = 4000; // then a curve is asked for anew, as the server has thinned it by then

async function ask(path, query) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`, {
    signal: AbortSignal.timeout(PATIENCE),
    cache: "no-store",
  });
  if (answer.status === 401) {
    location.reload(); // to the page that asks for the token
    await new Promise(() => {});
  }
  if (!answer.ok) throw new Error(`the server said ${answer.status}`);
  return answer.json();
}

export const findKeys = (step, text) => ask("/api/keys", { step, text });
export const askKey = (name) => ask("/api/key", { name });

/** What is known by now; `told` is called with the names of the parts that are new. */
export class Feed {
  constructor(told) {
    this.told = told;
    this.head = null;
    this.parts = {};
    this.lostAt = null; // when the server last answered, if it does not
    this.heardAt = Date.now();
    this.ahead = 0; // of the server's clock before the browser's
    this.pause = PAUSE;
    this.timer = null;
    this.isAsking = false;
    document.addEventListener("visibilitychange", () => document.hidden || this.now());
    addEventListener("online", () => this.now());
    addEventListener("pageshow", () => this.now());
  }

  /** Ask at once, and then again and again. */
  now() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask());
  }

  /** The time by the clock of the server. */
  get time() {
    return Date.now() + this.ahead;
  }

  async #ask() {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      const query = this.head ? { instance: this.head.instance, since: this.head.revision } : {};
      const { now, ...rest } = await ask("/api/now", query);
      const begun = Boolean(this.head) && this.head.instance !== rest.instance;
      const { instance, revision, begun: since, version, written, records, standing, ...parts } = rest;
      this.head = { instance, revision, begun: since, version, written, records, standing };
      this.ahead = now - Date.now();
      this.heardAt = Date.now();
      this.lostAt = null;
      this.pause = PAUSE;
      this.parts = begun ? parts : { ...this.parts, ...parts };
      await this.told(new Set(Object.keys(parts)), begun);
    } catch (error) {
      this.lostAt ??= this.heardAt;
      this.pause = Math.min(SLOWEST, 2 * this.pause);
      if (!(error instanceof TypeError || error.name === "TimeoutError")) console.warn(error);
      await this.told(new Set(), false);
    } finally {
      this.isAsking = false;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#ask(), document.hidden ? HIDDEN : this.pause);
    }
  }
}

/** The points of a curve by the names of their columns. */
export class Curve {
  constructor() {
    this.query = "";
    this.clear();
  }

  clear() {
    this.epoch = -1;
    this.columns = [];
    this.rows = [];
  }

  /** Bring it up to date; another question begins it anew. */
  async refresh(question) {
    const query = JSON.stringify(question);
    if (query !== this.query || this.rows.length > POINTS_MAX) this.clear();
    this.query = query;
    const after = this.rows.length ? this.rows.at(-1)[0] : 0;
    const found = await ask("/api/curves", { ...question, after, epoch: this.epoch });
    if (query !== this.query) return; // somebody has asked for another one meanwhile
    if (found.from === 0) this.rows = found.rows;
    else this.rows.push(...found.rows);
    this.epoch = found.epoch;
    this.columns = found.columns;
  }
}

/** A column of rows. */
export function column(columns, rows, name) {
  const place = columns.indexOf(name);
  return place < 0 ? null : rows.map((row) => row[place]);
}
