// Keys: the worst, the busiest, those that are searched for; and one of them.

import { Chart } from "./chart.js";
import { at, choose, el, foreign, keyButton, replace, say, svg } from "./dom.js";
import { picture } from "./errors.js";
import { askKey, findKeys } from "./feed.js";
import { ago, between, count, figure, moment, named } from "./words.js";

const TYPING = 180; // milliseconds without another letter
const RANKS = /^rank_(worst|busiest)$/;

/** The list of keys. */
export class KeysPanel {
  constructor(feed, streamOf) {
    this.feed = feed;
    this.streamOf = streamOf;
    this.list = "worst";
    this.found = null;
    for (const button of document.querySelectorAll("[data-list]")) {
      button.addEventListener("click", () => this.show(button.dataset.list));
    }
    at("search").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), TYPING);
    });
    at("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.found?.keys.length) choose(this.found.keys[0].name);
    });
  }

  show(list) {
    this.list = list;
    at("search").value = "";
    this.found = null;
    this.draw();
  }

  async search() {
    const text = at("search").value, step = this.streamOf()?.step;
    const found = text && step ? await findKeys(step, text) : null;
    if (text !== at("search").value) return;
    this.found = found;
    this.draw();
  }

  draw() {
    const step = this.streamOf()?.step;
    const own = this.feed.parts.keys?.steps[step];
    for (const button of document.querySelectorAll("[data-list]")) {
      button.setAttribute("aria-pressed", String(!this.found && button.dataset.list === this.list));
    }
    say(at("keys-count"), own ? `${count(own.count)} known${own.listed ? `, listed ${ago(own.listed, this.feed.time)}` : ""}` : "");
    const keys = this.found ? this.found.keys : (own?.[this.list] ?? []);
    say(at("found"), this.found ? this.#foundWords() : own || !step ? "" : "evaluate reports no keys here: keys=\"worst\" or keys=\"all\" lets it");
    const chosen = keyInAddress();
    const widest = Math.max(...keys.flatMap((one) => [one.high ?? one.error ?? 0, one.baseline ?? 0]), 1e-9);
    const name = keys[0]?.figure ?? "";
    replace(at("keys"), keys.length > 0 && [
      el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "key"),
        el("th", { scope: "col" }, name === "mistake_rate" ? "mistakes" : "RMSE"),
        el("th", { scope: "col", title: "the interval of the error, the error, and the baseline as a bar across" }, "interval"),
        el("th", { scope: "col" }, "lately"),
        el("th", { scope: "col", class: "wide" }, "labels"),
        el("th", { scope: "col", class: "wide" }, "events"))),
      el("tbody", {}, keys.map((one) => el("tr", { class: one.name === chosen && "chosen" },
        el("td", { class: "name" }, keyButton(one.name)),
        el("td", {}, figure(name, one.error)),
        el("td", {}, bar(one, widest)),
        el("td", {}, figure(name, one.fading)),
        el("td", { class: "wide" }, count(one.labelled)),
        el("td", { class: "wide" }, count(one.events))))),
    ]);
  }

  #foundWords() {
    const { keys, count: all } = this.found;
    if (!all) return "no key that is known has this in its name";
    return all > keys.length ? `the busiest ${keys.length} of ${count(all)} keys` : `${count(all)} ${all === 1 ? "key" : "keys"}`;
  }
}

/** The interval of an error as a picture. */
function bar(key, widest) {
  const x = (value) => 2 + (96 * value) / widest;
  const words = `${figure(key.figure, key.error)}, from ${between(key.figure, key.low, key.high)}; baseline ${figure(key.figure, key.baseline)}`;
  return svg("svg", { class: "bar", viewBox: "0 0 100 14", role: "img", "aria-label": words },
    svg("title", {}, words),
    svg("line", { class: "rail", x1: 0, x2: 100, y1: 7, y2: 7 }),
    Number.isFinite(key.low) && Number.isFinite(key.high) && svg("line", { class: "range", x1: x(key.low), x2: x(key.high), y1: 7, y2: 7 }),
    Number.isFinite(key.baseline) && svg("line", { class: "base", x1: x(key.baseline), x2: x(key.baseline), y1: 1, y2: 13 }),
    Number.isFinite(key.error) && svg("circle", { class: "point", cx: x(key.error), cy: 7, r: 3 }));
}

export function keyInAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("key");
}

/** The panel of one key. */
export class KeyPanel {
  constructor(feed) {
    this.feed = feed;
    this.name = null;
    at("key-close").addEventListener("click", () => history.replaceState(null, "", location.pathname) ?? this.open());
    addEventListener("hashchange", () => this.open(true));
  }

  /** Show the key that the address names. */
  async open(isChosen = false) {
    this.name = keyInAddress();
    this.body = null;
    at("key-close").hidden = this.name === null;
    if (this.name === null) {
      at("key").replaceChildren(el("p", { class: "muted" }, "Choose a key to see its error, what its model has chosen, and its alarms."));
    } else {
      await this.refresh();
      if (isChosen && matchMedia("(max-width: 62rem)").matches) at("key-panel").scrollIntoView({ block: "start" });
    }
    this.onopen?.();
  }

  async refresh() {
    const { name } = this;
    if (name === null) return;
    const found = await askKey(name);
    if (name === this.name) this.draw(found);
  }

  draw(found) {
    if (!this.body) {
      this.picture = el("div", { class: "chart", hidden: true });
      this.body = el("div");
      at("key").replaceChildren(el("p", { class: "name-of-key" }, foreign(found.name)), this.picture, this.body);
      this.chart = new Chart(this.picture, "Error of the key over time");
    }
    const evaluated = found.steps.filter((one) => one.rows.length);
    const chosen = found.steps.filter((one) => !one.rows.length);
    this.picture.hidden = !evaluated.length;
    if (evaluated.length) {
      const [first] = evaluated;
      const columns = first.columns.map((one) => ({ error: first.figure, low: `${first.figure}_low`, high: `${first.figure}_high`, fading: `fading_${first.figure}`, baseline: `baseline_${first.figure}`, fading_baseline: `fading_baseline_${first.figure}` })[one] ?? one);
      this.chart.draw(picture(columns, first.rows, at("axis").value, first.figure));
    }
    replace(this.body,
      !found.steps.length && el("p", { class: "muted" }, "Nothing is known of this key: no report about it has come, or it had to make room for others."),
      chosen.map((one) => [el("h3", {}, "What its model has chosen, after ", count(one.events), " events"), this.#figures(one)]),
      evaluated.map((one) => [el("h3", {}, evaluated.length > 1 ? one.step : "Figures", ` · ${count(one.events)} events · told ${ago(one.written, this.feed.time)}`), this.#figures(one)]),
      found.alarms.length > 0 && [el("h3", {}, "Alarms"), el("ol", { class: "happenings" }, found.alarms.map((one) => el("li", {}, el("span", { class: `kind ${/^\w+$/.test(one.kind) ? one.kind : ""}` }, foreign(one.kind)), el("span", { class: "when" }, moment(one.written)), el("div", {}, foreign(one.message)))))]);
  }

  #figures(step) {
    const pairs = Object.entries(step.values).filter(([name, value]) => !RANKS.test(name) && !/_(low|high)$/.test(name) && value !== null);
    return el("dl", { class: "figures" }, pairs.map(([name, value]) => {
      const ends = between(name, step.values[`${name}_low`], step.values[`${name}_high`]);
      return el("div", {}, el("dt", {}, foreign(named(name))), el("dd", {}, figure(name, value), ends && el("span", { class: "muted" }, ` (${ends})`)));
    }));
  }
}
