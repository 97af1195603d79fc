// Curves as SVG: lines, bands and marks over time or over a count, with a readout for pointer and
// keyboard. A chart is drawn anew when its data or its size changes.

import { el, foreign, svg } from "./dom.js";
import { brief, date, hour, moment, second } from "./words.js";

const MARGIN = { top: 8, right: 14, bottom: 24, left: 52 };
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND).concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), [1, 2, 3, 6, 12].map((n) => n * HOUR),
  [1, 2, 7, 14, 30, 90, 180, 365, 1000, 4000].map((n) => n * DAY));

/** A picture of curves.
 *
 * host: the element to draw in. what: what a screen reader is told that it is.
 *
 * What is drawn: x {kind: "time" or "count", values, name}; lines [{name, color, dash, values}];
 * bands [{color, low, high}]; marks [{x, text}]; format(value); zero: whether it begins at 0;
 * nothing: what to say where there is nothing.
 */
export class Chart {
  constructor(host, what) {
    this.host = host;
    this.what = what;
    this.chosen = null; // the place of the readout
    this.legend = el("ul", { class: "legend" });
    this.frame = el("div", {
      class: "frame", tabindex: "0", role: "group", "aria-label": what,
      onpointermove: (event) => this.#point(event),
      onpointerdown: (event) => this.#point(event),
      onpointerleave: () => this.#read(null),
      onblur: () => this.#read(null),
      onkeydown: (event) => this.#key(event),
    });
    this.readout = el("div", { class: "readout", hidden: true, role: "status" });
    host.replaceChildren(this.legend, this.frame, this.readout);
    new ResizeObserver(() => this.#draw()).observe(this.frame);
  }

  draw(data) {
    this.data = data;
    this.#draw();
  }

  #draw() {
    const { data, frame } = this;
    const width = frame.clientWidth, height = frame.clientHeight;
    if (!data || width < 60 || height < 60) return;
    const values = [...data.lines.flatMap((one) => one.values), ...(data.bands ?? []).flatMap((one) => [...one.low, ...one.high])].filter(Number.isFinite);
    const xs = data.x.values;
    if (!xs.length || !values.length) {
      this.#read(null);
      this.scale = null;
      this.legend.replaceChildren();
      frame.replaceChildren(el("p", { class: "nothing" }, data.nothing ?? "nothing yet"));
      return;
    }
    this.#explain();
    const [low, high, ticks] = nice(data.zero ? Math.min(0, ...extent(values)) : extent(values)[0], extent(values)[1], height);
    const [first, last] = widened(...extent([...xs, ...(data.marks ?? []).map((one) => one.x)]), data.x.kind);
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const x = (value) => MARGIN.left + ((value - first) / (last - first)) * (right - MARGIN.left);
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);
    this.scale = { x, y, width, height, bottom };
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    for (const tick of ticks) {
      picture.append(
        svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, shortened(data.format(tick))));
    }
    for (const [value, text] of marksOf(first, last, data.x.kind, width)) {
      picture.append(
        svg("line", { class: "axis", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
        svg("text", { x: Math.min(x(value), width - 4 * text.length), y: height - 5, "text-anchor": "middle" }, text));
    }
    picture.append(svg("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }));
    for (const one of data.bands ?? []) {
      for (const piece of pieces(xs, one.low, one.high)) {
        const over = piece.map((i) => `${x(xs[i]).toFixed(1)},${y(one.high[i]).toFixed(1)}`);
        const under = piece.map((i) => `${x(xs[i]).toFixed(1)},${y(one.low[i]).toFixed(1)}`).reverse();
        picture.append(svg("polygon", { class: `area c${one.color}`, points: [...over, ...under].join(" ") }));
      }
    }
    for (const mark of data.marks ?? []) {
      if (mark.x < first || mark.x > last) continue;
      picture.append(
        svg("line", { class: "mark", x1: x(mark.x), x2: x(mark.x), y1: MARGIN.top, y2: bottom }),
        svg("path", { class: "flag", d: `M${x(mark.x)} ${MARGIN.top}l6 -4v8z` }));
    }
    for (const one of data.lines) {
      for (const piece of pieces(xs, one.values)) {
        if (piece.length === 1) {
          picture.append(svg("circle", { class: `c${one.color}`, cx: x(xs[piece[0]]), cy: y(one.values[piece[0]]), r: 2.6 }));
          continue;
        }
        const points = piece.map((i) => `${x(xs[i]).toFixed(1)} ${y(one.values[i]).toFixed(1)}`);
        picture.append(svg("path", { class: `line c${one.color}`, "stroke-dasharray": DASHES[one.dash ?? 0] || null, d: `M${points.join("L")}` }));
      }
    }
    this.cursor = svg("g");
    picture.append(this.cursor);
    frame.replaceChildren(picture);
    frame.setAttribute("aria-label", `${this.what}. ${this.#words(xs.length - 1)}. Arrow keys read other points.`);
    if (this.chosen !== null) this.#read(Math.min(this.chosen, xs.length - 1));
  }

  #explain() {
    const { lines, marks } = this.data;
    const entries = lines.map((one) => el("li", {},
      svg("svg", { viewBox: "0 0 27 11", "aria-hidden": "true" },
        svg("path", { class: `line c${one.color}`, "stroke-dasharray": DASHES[one.dash ?? 0] || null, d: "M1 6H26", "stroke-width": 2.2 })),
      one.foreign ? foreign(one.name) : one.name));
    if (marks?.length) {
      entries.push(el("li", {},
        svg("svg", { viewBox: "0 0 27 11", "aria-hidden": "true" }, svg("path", { class: "mark", d: "M12 0V11" }), svg("path", { class: "flag", d: "M12 4l7 -4v8z" })),
        this.data.marked ?? "alarm"));
    }
    this.legend.replaceChildren(...entries);
  }

  #point(event) {
    if (!this.scale) return;
    const box = this.frame.getBoundingClientRect();
    const xs = this.data.x.values, at = event.clientX - box.left;
    let best = 0;
    for (let i = 1; i < xs.length; i += 1) {
      if (Math.abs(this.scale.x(xs[i]) - at) <= Math.abs(this.scale.x(xs[best]) - at)) best = i;
    }
    this.#read(best);
  }

  #key(event) {
    const last = (this.data?.x.values.length ?? 0) - 1;
    if (last < 0 || !this.scale) return;
    const here = this.chosen ?? last + 1;
    const far = Math.max(1, Math.round(last / 20));
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, PageUp: here - far, PageDown: here + far, Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.#read(null);
    if (to === undefined) return;
    event.preventDefault();
    this.#read(Math.max(0, Math.min(last, to)));
  }

  /** Show what there is at a point. */
  #read(place) {
    this.chosen = place;
    this.cursor?.replaceChildren();
    this.readout.hidden = place === null;
    if (place === null) return;
    const { lines, x, format } = this.data, { scale } = this;
    const at = scale.x(x.values[place]);
    this.cursor.append(svg("line", { class: "cursor", x1: at, x2: at, y1: MARGIN.top, y2: scale.bottom }));
    const rows = [];
    for (const one of lines) {
      const value = one.values[place];
      if (!Number.isFinite(value)) continue;
      this.cursor.append(svg("circle", { class: `c${one.color}`, cx: at, cy: scale.y(value), r: 3.4 }));
      const between = one.between?.(place);
      rows.push(el("tr", {}, el("td", {}, one.foreign ? foreign(one.name) : one.name), el("td", {}, between ? `${format(value)} (${between})` : format(value))));
    }
    this.readout.replaceChildren(el("strong", {}, this.#when(place)), el("table", {}, el("tbody", {}, ...rows)));
    const room = this.host.clientWidth, own = this.readout.offsetWidth;
    this.readout.style.left = `${Math.max(0, at + own + 24 > room ? at - own - 12 : at + 12)}px`;
    this.readout.style.top = `${this.frame.offsetTop + 10}px`;
  }

  #when(place) {
    const { x } = this.data;
    const value = x.values[place];
    const more = x.also ? ` · ${x.also(place)}` : "";
    return (x.kind === "time" ? moment(value) : `${brief(value)} ${x.name ?? ""}`) + more;
  }

  #words(place) {
    const { lines, format } = this.data;
    const told = lines.filter((one) => Number.isFinite(one.values[place])).map((one) => `${one.name} ${format(one.values[place])}`);
    return `${this.#when(place)}: ${told.join(", ")}`;
  }
}

/** The smallest and the largest; of very many numbers too. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const one of values) {
    if (one < low) low = one;
    if (one > high) high = one;
  }
  return [low, high];
}

function widened(first, last, kind) {
  if (last > first) return [first, last];
  const side = kind === "time" ? MINUTE : Math.max(1, Math.abs(first) / 2);
  return [first - side, first + side];
}

/** Ends of an axis, and where its lines are. */
function nice(low, high, height) {
  const span = high - low || Math.abs(high) || 1;
  const wanted = Math.max(2, Math.round(height / 55));
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => span / n <= wanted);
  const begin = Math.floor(low / step + 1e-9) * step, end = Math.max(Math.ceil(high / step - 1e-9) * step, begin + step);
  const ticks = [];
  for (let i = 0; begin + i * step <= end + step / 2; i += 1) ticks.push(Number((begin + i * step).toPrecision(12)));
  return [begin, end, ticks];
}

/** Where the axis at the bottom has its marks, and their texts. */
function marksOf(first, last, kind, width) {
  const most = Math.max(2, Math.floor(width / 95));
  if (kind !== "time") {
    const [, , ticks] = nice(first, last, most * 55);
    return ticks.filter((tick) => tick >= first && tick <= last).map((tick) => [tick, brief(tick)]);
  }
  const step = STEPS.find((one) => (last - first) / one <= most) ?? STEPS.at(-1);
  const shift = new Date(first).getTimezoneOffset() * MINUTE;
  const found = [];
  for (let tick = Math.ceil((first - shift) / step) * step + shift; tick <= last; tick += step) {
    found.push([tick, step >= DAY ? date(tick) : step >= MINUTE ? hour(tick) : second(tick)]);
  }
  return found;
}

/** The text of a tick: 40.0 % is 40 %. */
const shortened = (text) => text.replace(/\.0(?= %$)/, "");

/** Runs of places where all columns are known; a line is not drawn over a gap. */
function pieces(xs, ...columns) {
  const found = [];
  let piece = [];
  for (let i = 0; i < xs.length; i += 1) {
    if (columns.every((one) => Number.isFinite(one[i]))) piece.push(i);
    else if (piece.length) {
      found.push(piece);
      piece = [];
    }
  }
  if (piece.length) found.push(piece);
  return found;
}
