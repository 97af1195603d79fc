// Everything but curves and keys: what is the case now, the contest, alarms, rejects, sources.

import { Chart } from "./chart.js";
import { at, el, foreign, keyButton, offer, replace, say, svg } from "./dom.js";
import { Curve, column } from "./feed.js";
import { ago, between, brief, count, figure, known, moment, perSecond } from "./words.js";

const COLORS = 6;
const LONG = 30; // seconds of records, of which a job may be behind by its epochs
const QUIET = 60_000; // milliseconds without a record, after which a job is not lively

/** The figures at the top. */
export function drawTiles(parts, stream, now) {
  const tiles = [];
  const add = (name, value, more, title) => tiles.push(el("div", { class: "tile", title }, el("dt", {}, name), el("dd", { class: "figure" }, value), el("dd", { class: "more" }, more ?? "")));
  if (stream?.figure) {
    const { values, figure: name } = stream;
    const words = name === "rmse" ? "error" : "mistakes";
    const get = (one) => values[one];
    const low = get(`window_${name}_low`), high = get(`window_${name}_high`);
    const latest = `of the latest ${count(get("window_labelled"))} labels`;
    add(name === "rmse" ? "RMSE lately" : "Mistakes lately", figure(name, get(`window_${name}`)), known(low) ? `${between(name, low, high)}` : latest, latest);
    add("Overall", figure(name, get(name)), between(name, get(`${name}_low`), get(`${name}_high`)), `${words} over all ${count(get("labelled"))} labels`);
    const baseline = name === "rmse" ? "the mean label" : "the commonest label";
    add("Baseline lately", figure(name, get(`window_baseline_${name}`) ?? get(`baseline_${name}`)), baseline);
    add("Labels", brief(get("labelled")), `${count(stream.events)} predictions`);
  }
  const pace = parts.pace;
  if (pace && known(pace.lag)) {
    add("Lag", brief(pace.lag), lagWords(pace), "as of the job's last commit: it tells once an epoch how far it is");
    add("Throughput", known(pace.read_rate) ? perSecond(pace.read_rate) : "…", known(pace.come_rate) ? `${perSecond(pace.come_rate)} come in` : "measuring", "records read, over half a minute");
  } else if (stream) {
    add("Throughput", perSecond(stream.rate), "predictions, by the reports", "between the reports of the latest minute");
  }
  const steps = Object.values(parts.keys?.steps ?? {});
  if (steps.length) add("Keys", count(Math.max(...steps.map((one) => one.count))), parts.keys.dropped ? `${count(parts.keys.dropped)} more made room` : "that were reported");
  const alarms = parts.alarms;
  add("Alarms", count(total(alarms?.counts ?? [])), alarms?.latest[0] ? `last ${ago(alarms.latest[0].written, now)}` : "none yet");
  const rejects = parts.rejects ?? [];
  const last = Math.max(0, ...rejects.map((one) => one.latest[0]?.written ?? 0));
  add("Rejects", count(total(rejects)), rejects.length ? (last ? `last ${ago(last, now)}` : "") : "none yet");
  at("tiles").replaceChildren(...tiles);
}

/** What a lag means in time: of so long a backlog the end is told, if there is one in sight. */
function lagWords({ lag, read_rate: read, come_rate: come }) {
  if (!lag) return "all is read";
  if (!come || !known(read)) return "records not yet read";
  if (lag < LONG * come) return `what comes in ${span(lag / come)}`;
  return read > 1.05 * come ? `caught up in ${span(lag / (read - come))}` : "records not yet read";
}

const total = (counts) => counts.reduce((sum, one) => sum + one.count, 0);
const span = (seconds) => (seconds < 100 ? `${Math.ceil(seconds)} s` : seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`);

/** Learners side by side. */
export class ContestPanel {
  constructor(feed) {
    this.feed = feed;
    this.curve = new Curve();
    this.chart = null;
    at("contest-step").addEventListener("change", () => this.refresh());
  }

  async refresh() {
    const contests = this.feed.parts.contests ?? [];
    const told = (this.feed.parts.alarms?.counts ?? []).filter((one) => one.learner);
    at("contest-panel").hidden = !contests.length && !told.length;
    if (at("contest-panel").hidden) return;
    offer(at("contest-step"), contests.map((one) => [one.step, one.step]));
    at("contest-label").hidden = contests.length < 2;
    const contest = contests.find((one) => one.step === at("contest-step").value) ?? contests[0];
    this.chart ??= new Chart(at("contest-chart"), "Error of each learner");
    if (contest) await this.curve.refresh({ of: "contest", step: contest.step });
    this.#draw(contest, told);
  }

  #draw(contest, told) {
    const alarms = (learner) => told.filter((one) => one.learner === learner).reduce((sum, one) => sum + one.count, 0);
    const { columns, rows } = this.curve;
    const learners = contest?.learners ?? [];
    const name = contest?.figure ?? "mistake_rate";
    this.chart.draw({
      x: { kind: "count", name: "labels", values: column(columns, rows, "labelled") ?? [] },
      lines: learners.map((one, i) => ({ name: one, foreign: true, color: 1 + (i % COLORS), dash: i % COLORS, values: column(columns, rows, one) ?? [] })),
      zero: true, format: (value) => figure(name, value),
      nothing: "a partition reports after every 10,000 of its events, unless report_every says otherwise",
    });
    const table = contest?.table ?? [...new Set(told.map((one) => one.learner))].map((learner) => ({ learner }));
    const predicted = contest && (this.feed.parts.streams ?? []).find((one) => one.step.split(".")[0] === contest.step.split(".")[0] && one.figure === name);
    const isFailing = table.some((one) => one.failures);
    replace(at("contest"),
      el("thead", {}, el("tr", {}, ["learner", name === "rmse" ? "RMSE" : "mistakes", "found better", isFailing && "failures"].filter(Boolean).map((one) => el("th", { scope: "col" }, one)))),
      el("tbody", {}, table.map((one) => el("tr", {},
        el("td", { class: "foreign", title: one.learner }, foreign(one.learner)),
        el("td", {}, figure(name, one.error)),
        el("td", {}, keysWord(Math.max((one.promotion ?? 0) + (one.challenger_ahead ?? 0), alarms(one.learner)))),
        isFailing && el("td", {}, count(one.failures ?? 0)))),
      predicted && el("tr", { title: "what was predicted: by each key's champion of the moment, as evaluate judges it" },
        el("td", {}, "as predicted, by the champions"), el("td", {}, figure(name, predicted.values[name])), el("td", {}, "–"), isFailing && el("td", {}, "–"))));
    say(at("contest-note"), contest
      ? `Over ${count(contest.labelled)} labels that ${contest.partitions} partitions have told of, whoever predicted. “Found better”: how often a challenger was found to be better for a key, and took over there if it may.`
      : "Which challengers were found to be better, by the alarms; the partitions have not yet reported.");
  }
}

const keysWord = (number) => (number ? `${count(number)} ${number === 1 ? "time" : "times"}` : "–");

/** Throughput and lag. */
export class PacePanel {
  constructor(feed) {
    this.feed = feed;
    this.curve = new Curve();
    this.drawnAt = 0;
  }

  async refresh() {
    const { standing } = this.feed.head;
    const pace = this.feed.parts.pace;
    at("pace-panel").hidden = standing.kind === "files";
    if (at("pace-panel").hidden) return;
    this.rates ??= new Chart(at("rate-chart"), "Records a second");
    this.lags ??= new Chart(at("lag-chart"), "Lag in records");
    const groups = standing.groups.join(", ");
    replace(at("pace-note"), standing.lag_trouble
      ? `the brokers do not say how far the job is: ${standing.lag_trouble}`
      : pace ? [`of the consumer group `, foreign(groups)]
      : groups ? ["the consumer group ", foreign(groups), " has told nothing yet: a job tells at the end of an epoch; is it called otherwise, --group names it"] : "no flow has reported yet");
    if (Date.now() < this.drawnAt + 4000 && pace) return;
    this.drawnAt = Date.now();
    await this.curve.refresh({ of: "pace" });
    const { columns, rows } = this.curve;
    const x = { kind: "time", values: column(columns, rows, "written") ?? [] };
    const of = (name) => column(columns, rows, name) ?? [];
    this.rates.draw({ x, zero: true, nothing: "measuring …", format: perSecond, lines: [{ name: "read by the job", color: 1, dash: 0, values: of("read") }, { name: "come in", color: 2, dash: 1, values: of("come") }] });
    this.lags.draw({ x, zero: true, format: brief, lines: [{ name: "records that are there and not yet read", color: 3, dash: 0, values: of("lag") }] });
  }
}

/** The latest alarms. */
export function drawAlarms(alarms, now) {
  const latest = alarms?.latest ?? [];
  const kinds = {};
  for (const one of alarms?.counts ?? []) kinds[one.kind] = (kinds[one.kind] ?? 0) + one.count;
  say(at("alarms-count"), Object.entries(kinds).map(([kind, number]) => `${count(number)} ${kind.replaceAll("_", " ")}`).join(", ") || "none yet");
  replace(at("alarms"), latest.map((one) => el("li", { class: "inline" },
    el("span", { class: `kind ${/^\w+$/.test(one.kind) ? one.kind : ""}` }, foreign(one.kind.replaceAll("_", " "))),
    one.subject === "key" ? keyButton(one.name) : el("span", {}, "the whole stream"), " ",
    el("span", { class: "when", title: moment(one.written) }, `· ${ago(one.written, now)}`),
    el("div", { class: "muted" }, foreign(one.message)))));
}

/** Rejects by reason; what is open stays open. */
export function drawRejects(rejects, now) {
  const all = total(rejects ?? []);
  say(at("rejects-count"), all ? `${count(all)} in all` : "none yet");
  const open = new Set([...at("rejects").querySelectorAll("details[open]")].map((one) => one.dataset.reason));
  replace(at("rejects"), (rejects ?? []).map((one) => el("details", { "data-reason": one.reason, open: open.has(one.reason) },
    el("summary", { "data-focus": one.reason },
      el("span", {}, one.reason.replaceAll("_", " ")),
      el("span", { class: "count" }, count(one.count)),
      svg("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "rail", width: 100, height: 8, rx: 2 }), svg("rect", { width: Math.max(2, (100 * one.count) / all), height: 8, rx: 2 }))),
    one.latest.map((example) => el("div", { class: "example inline" },
      el("div", {}, foreign(example.message)),
      el("div", { class: "when" }, `${ago(example.written, now)} · offset ${count(example.cause.offset)} of partition ${example.cause.partition} of `, foreign(example.cause.topic),
        example.key !== null && [" · key ", keyButton(example.key)], example.id !== null && [" · id ", foreign(example.id)]),
      example.original !== null && el("pre", {}, foreign(example.original), example.original_bytes > 500 && el("span", { class: "muted" }, ` … of ${count(example.original_bytes)} bytes`)))))));
}

/** What is read, and what was left out. */
export function drawSources(head, parts) {
  const { standing } = head;
  const word = standing.kind === "files" ? "file" : "topic";
  replace(at("sources"), el("table", {},
    el("thead", {}, el("tr", {}, [word, "state", "read"].map((one) => el("th", { scope: "col" }, one)))),
    el("tbody", {}, standing.sources.map((one) => el("tr", {},
      el("td", {}, foreign(one.topic)),
      el("td", {}, one.trouble ? foreign(one.trouble) : one.partitions ? (word === "topic" ? `${one.partitions} ${one.partitions === 1 ? "partition" : "partitions"}` : "there") : "missing: waiting for it"),
      el("td", {}, one.total ? `${((100 * one.read) / one.total).toFixed(one.read < one.total ? 1 : 0)} %` : "–"))))),
  el("p", { class: "muted" }, standing.brokers ? ["brokers ", foreign(standing.brokers), " · "] : "", `${count(head.records)} records since ${moment(head.begun)} · okl_flow ${head.version}`));
  const left = Object.entries(parts.left_out ?? {}).map(([what, number]) => `${count(number)} ${what}`);
  if (parts.alarms?.dropped) left.push(`${count(parts.alarms.dropped)} older alarms`);
  if (parts.keys?.dropped) left.push(`${count(parts.keys.dropped)} keys, those reported longest ago`);
  say(at("left-out"), left.length ? `To stay small this page has left out ${left.join(", ")}. Of old points of curves ever fewer are kept.` : "Of old points of curves ever fewer are kept: half of those that are twice as old.");
}

/** The state in a word or two, and what has to be said of it. */
export function drawStatus(feed) {
  const { head, lostAt, time } = feed;
  const notices = [];
  let dot = "", words = "asking …";
  if (head) {
    const { standing } = head;
    const missing = standing.sources.filter((one) => !one.partitions);
    const reading = standing.sources.filter((one) => one.read < one.total - 2000);
    const [read, all] = ["read", "total"].map((name) => standing.sources.reduce((sum, one) => sum + one[name], 0));
    words = head.written ? `last record ${ago(head.written, time)}` : "no record yet";
    dot = head.written ? (time - head.written < QUIET ? "live" : "quiet") : "";
    if (standing.trouble) notices.push(["No broker of ", foreign(standing.brokers), " answers: ", foreign(standing.trouble), ". Trying again and again."]);
    for (const one of standing.trouble ? [] : missing) {
      notices.push([standing.kind === "files" ? "The file " : "The topic ", foreign(one.topic), one.trouble ? [" cannot be read: ", foreign(one.trouble), "."] : " is not there yet: waiting for it."]);
    }
    if (reading.length) [dot, words] = ["", `reading the history: ${((100 * read) / all).toFixed(0)} %`];
    if (standing.trouble || missing.length) dot = "";
    if (head.written > time + 5000) notices.push([`The clock of the job is ${Math.round((head.written - time) / 1000)} s ahead of that of this page.`]);
  }
  if (lostAt) {
    dot = "away";
    words = "out of touch";
    notices.splice(0, notices.length, [`The server of this page does not answer since ${moment(lostAt)}: is it still running? Trying again; what you see is from then.`]);
  }
  at("status").querySelector(".dot").className = `dot ${dot}`;
  say(at("status-words"), words);
  const drawn = notices.map((one) => el("p", { class: "notice" }, one.flat()));
  if (at("notices").textContent !== drawn.map((one) => one.textContent).join("")) at("notices").replaceChildren(...drawn);
}

