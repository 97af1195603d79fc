// Numbers, times and names of figures in words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export const count = (number) => (known(number) ? whole.format(number) : "–");
export const known = (number) => number !== null && number !== undefined && !Number.isNaN(number);

/** A number that takes little room: 1,234 or 12.3k. */
export function brief(number) {
  if (!known(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e9) return `${(number / 1e9).toPrecision(3)}G`;
  if (size >= 1e6) return `${(number / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${(number / 1e3).toPrecision(3)}k`;
  if (size >= 100 || Number.isInteger(number)) return whole.format(number);
  return Number(number.toPrecision(2)).toString();
}

/** A figure: shares are in percent. */
export function figure(name, value) {
  if (!known(value)) return "–";
  if (isShare(name)) return `${(100 * value).toFixed(1)} %`;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return whole.format(value);
  return Number(value.toPrecision(4)).toString();
}

export const isShare = (name) => /(mistake_rate|accuracy)/.test(name);

/** Whether less of it is better, so that a picture of it begins at 0. */
export const isError = (name) => /(mistake_rate|loss|rmse|mae)$/.test(name);

export const between = (name, low, high) =>
  known(low) && known(high)
    ? isShare(name)
      ? `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %`
      : `${figure(name, low)} to ${figure(name, high)}`
    : "";

const NAMES = {
  mistake_rate: "mistakes",
  rmse: "root mean squared error",
  mae: "mean absolute error",
  balanced_accuracy: "balanced accuracy",
  f1: "F1",
  kappa: "kappa",
  auc: "area under the curve",
  r2: "R²",
  loss: "loss",
};

/** What a figure is called: window_mistake_rate is "mistakes, window". */
export function named(name) {
  const over = name.startsWith("window_") ? "latest" : name.startsWith("fading_") ? "fading" : "";
  let bare = name.replace(/^(window|fading)_/, "");
  const end = bare.endsWith("_low") ? "low end" : bare.endsWith("_high") ? "high end" : "";
  bare = bare.replace(/_(low|high)$/, "");
  const isBaseline = bare.startsWith("baseline_");
  bare = bare.replace(/^baseline_/, "");
  const words = NAMES[bare] ?? bare.replaceAll("_", " ");
  return [isBaseline ? `baseline, ${words}` : words, over, end].filter(Boolean).join(", ");
}

export const perSecond = (rate) => (known(rate) ? `${brief(rate)}/s` : "–");
export const moment = (ms) => (ms ? full.format(ms) : "at no known time");
export const hour = (ms) => short.format(ms);
export const second = (ms) => clock.format(ms);
export const date = (ms) => day.format(ms);

/** How long ago something was, by the clock of the server. */
export function ago(ms, now) {
  if (!ms) return "at no known time";
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 2) return "just now";
  if (seconds < 100) return `${seconds} s ago`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}
