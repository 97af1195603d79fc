// The error over time: of the whole stream, and of a key.

import { Chart } from "./chart.js";
import { at, offer } from "./dom.js";
import { Curve, column } from "./feed.js";
import { between, brief, count, figure, isError, named } from "./words.js";

const NOTHING = "no report yet: the first one comes after as many labels as evaluate is told (1,000 by default)";

/** The panel with the curves of the whole stream. */
export class ErrorPanel {
  constructor(feed) {
    this.feed = feed;
    this.curve = new Curve();
    this.chart = new Chart(at("error-chart"), "Error over time");
    for (const name of ["step", "figure", "axis", "range"]) {
      at(name).addEventListener("change", () => this.refresh());
    }
  }

  /** The step that is looked at, as its latest report has it. */
  get stream() {
    const streams = this.feed.parts.streams ?? [];
    return streams.find((one) => one.step === at("step").value) ?? streams[0];
  }

  async refresh() {
    const streams = this.feed.parts.streams ?? [];
    if (!this.hasAxis && this.feed.head?.standing.kind === "files") at("axis").value = "labelled";
    this.hasAxis = true; // of what a file had before, nobody knows when it was written
    offer(at("step"), streams.map((one) => [one.step, one.step]));
    at("step-label").hidden = streams.length < 2;
    const stream = this.stream;
    if (!stream) {
      this.chart.draw({ x: { kind: "time", values: [] }, lines: [], nothing: NOTHING });
      return;
    }
    offer(at("figure"), stream.figures.map((one) => [one, named(one)]));
    await this.curve.refresh({ of: "stream", step: stream.step, figure: at("figure").value });
    this.draw();
  }

  draw() {
    const name = at("figure").value, latest = this.stream?.values.window_labelled;
    const rows = chosenRows(this.curve, at("axis").value, Number(at("range").value));
    const { columns } = this.curve;
    const drawn = picture(columns, rows, at("axis").value, name, {
      window: latest ? `latest ${count(latest)} labels` : "latest labels",
    });
    const alarms = (this.feed.parts.alarms?.latest ?? []).filter((one) => one.subject === "stream" && one.step === this.stream?.step);
    drawn.marks = alarms.map((one) => ({ x: place(one.written, rows, columns, at("axis").value) })).filter((one) => one.x !== null);
    drawn.marked = "drift alarm";
    this.chart.draw(drawn);
  }
}

/** Rows of the time that is shown; over labels only those of the latest run. */
function chosenRows(curve, axis, range) {
  let { rows } = curve;
  if (!rows.length) return rows;
  if (axis === "labelled") {
    let begin = 0;
    for (let i = 1; i < rows.length; i += 1) if (rows[i][1] < rows[i - 1][1]) begin = i;
    rows = rows.slice(begin);
  }
  const from = range ? rows.at(-1)[2] - range : -Infinity;
  return rows.filter((row) => row[2] >= from);
}

/** Where an alarm stands on the axis. */
function place(written, rows, columns, axis) {
  if (!rows.length || written < rows[0][2]) return null;
  if (axis === "written") return written;
  const near = rows.find((row) => row[2] >= written) ?? rows.at(-1);
  return near[columns.indexOf("labelled")];
}

/** What a chart draws of a figure: latest, overall with its interval, fading, and the baseline. */
export function picture(columns, rows, axis, name, words = {}) {
  const of = (wanted) => broken(column(columns, rows, wanted), rows);
  const labelled = column(columns, rows, "labelled");
  const lines = [], bands = [];
  const add = (wanted, text, color, dash) => {
    const values = of(wanted);
    if (!values) return;
    const low = of(`${wanted}_low`), high = of(`${wanted}_high`);
    const line = { name: text, color, dash, values };
    if (low && high) line.between = (i) => between(name, low[i], high[i]);
    lines.push(line);
    if (low && high && wanted === name) bands.push({ color, low, high });
  };
  add(`window_${name}`, words.window ?? "latest", 1, 0);
  if (!columns.includes(`window_${name}`)) add(`fading_${name}`, "lately (fading)", 1, 0);
  add(name, "overall, with interval", 3, 3);
  const baseline = columns.includes(`window_baseline_${name}`) ? `window_baseline_${name}` : columns.includes(`fading_baseline_${name}`) ? `fading_baseline_${name}` : `baseline_${name}`;
  add(baseline, "baseline", 0, 2);
  return {
    x: {
      kind: axis === "labelled" ? "count" : "time",
      values: column(columns, rows, axis) ?? [],
      name: "labels",
      also: axis === "labelled" ? undefined : (i) => `${brief(labelled[i])} labels`,
    },
    lines, bands, zero: isError(name), format: (value) => figure(name, value), nothing: NOTHING,
  };
}

/** A column with a gap where the job began from the beginning. */
function broken(values, rows) {
  if (!values) return null;
  return values.map((value, i) => (i > 0 && rows[i][1] < rows[i - 1][1] ? null : value));
}
