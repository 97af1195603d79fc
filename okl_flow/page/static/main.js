// Puts the page together: what is new is handed to the panels that show it.

import { at, foreign } from "./dom.js";
import { ErrorPanel } from "./errors.js";
import { Feed } from "./feed.js";
import { KeyPanel, KeysPanel } from "./keys.js";
import { ContestPanel, PacePanel, drawAlarms, drawRejects, drawSources, drawStatus, drawTiles } from "./panels.js";

const feed = new Feed(told);
const errors = new ErrorPanel(feed);
const keys = new KeysPanel(feed, () => errors.stream);
const key = new KeyPanel(feed);
const contest = new ContestPanel(feed);
const pace = new PacePanel(feed);

key.onopen = () => keys.draw();
at("step").addEventListener("change", () => draw());
at("axis").addEventListener("change", () => key.refresh());

const AGES = 5000; // milliseconds after which what is told as a distance is told anew
let agedAt = 0;

/** Draw what has changed. */
async function told(changed, begun) {
  drawStatus(feed);
  if (!feed.head || feed.lostAt) return;
  if (begun) [errors, contest, pace].forEach((panel) => panel.curve.clear());
  if (begun || changed.has("streams") || !feed.parts.streams) await errors.refresh();
  else if (changed.has("alarms")) errors.draw();
  if (begun || changed.has("contests") || changed.has("alarms")) await contest.refresh();
  if (changed.has("keys") && at("search").value) await keys.search();
  if (changed.has("keys") || changed.has("alarms")) await key.refresh();
  await pace.refresh();
  draw(changed);
}

function draw(changed = new Set(["keys", "alarms", "rejects"])) {
  const { parts, head, time } = feed;
  const isOld = Date.now() > agedAt + AGES;
  if (isOld) agedAt = Date.now();
  const stream = errors.stream;
  const job = stream?.step.split(".")[0];
  if (job) {
    at("job").replaceChildren(foreign(job));
    document.title = `${job} – okl_flow`;
  }
  drawTiles(parts, stream, time);
  if (isOld || changed.has("keys") || changed.has("streams")) keys.draw();
  if (isOld || changed.has("alarms")) drawAlarms(parts.alarms, time);
  if (isOld || changed.has("rejects")) drawRejects(parts.rejects, time);
  drawSources(head, parts);
}

key.open();
feed.now();
