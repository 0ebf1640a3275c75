// One experiment: settings, numbers, charts, arms and the last decisions.

import { change, download, downloadEntries, get, path, token } from "./api.js";
import { arms } from "./arms.js";
import { chart } from "./charts.js";
import { decisions, loadDecisions } from "./decisions.js";
import { h } from "./dom.js";
import { count, counted, date, duration, number, percent } from "./format.js";
import { badge } from "./overview.js";

/** What the reader has chosen on this view; it outlives each update. */
export function start(name) {
  return { name, selected: {}, open: new Set(), filter: "", refusal: null };
}

export async function load(state, signal) {
  const [experiment, last] = await Promise.all([
    get(path(state.name), signal),
    loadDecisions(state, signal),
  ]);
  return { experiment, last };
}

/** The way to the list. */
export function back() {
  return h("p", { class: "back" }, h("a", { href: "#/" }, "← all experiments"));
}

/** page: { redraw(), reload(), refused(error) } */
export function render({ experiment, last }, state, page) {
  return [
    back(),
    h("div", { class: "title" },
      h("h1", null, experiment.name), badge(experiment.status), buttons(experiment, state, page)),
    state.refusal && h("p", { class: "alert", role: "alert" }, state.refusal),
    tiles(experiment),
    h("section", null, h("h2", null, "Exploration"), cost(experiment)),
    h("section", null, h("h2", null, "Over time"), charts(experiment.history, state, page)),
    arms(experiment, state, page),
    decisions(experiment, last, state, page),
    h("section", null, h("h2", null, "Settings and log"), settings(experiment),
      exports(experiment, state, page)),
  ];
}

function buttons({ name, status }, state, page) {
  const act = async (wanted) => {
    const question = `Archive ${name}? It will take no more decisions.`;
    if (wanted === "archived" && !confirm(question)) return;
    await attempt(() => change(name, { status: wanted }), state, page);
    page.reload();
  };
  const button = (wanted, text) =>
    h("button", { key: wanted, type: "button", onclick: () => act(wanted) }, text);
  if (status === "archived") return null;
  return h("span", { class: "buttons" },
    status === "active" ? button("paused", "Pause") : button("active", "Resume"),
    button("archived", "Archive"));
}

/** Does something on the server; shows the error line if that is refused. */
async function attempt(action, state, page) {
  try {
    await action();
    state.refusal = null;
  } catch (error) {
    state.refusal = error.message;
    page.refused(error);
  }
  page.redraw();
}

function tiles({ counts, mean_reward, exploration }) {
  const tile = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
  return h("dl", { class: "tiles" },
    tile("decisions", count(counts.decisions)),
    tile("mean reward", number(mean_reward)),
    tile("rewards pending", count(counts.waiting)),
    tile("rewards that expired", count(counts.expired)),
    tile("share of exploration", percent(exploration.share)),
    tile("cost of exploration", number(exploration.cost)));
}

/** The cost of exploration, in sentences. */
function cost({ counts, mean_reward, exploration }) {
  const { rounds, share, expected, expected_rounds } = exploration;
  if (!counts.decisions) return h("p", null, "There is no decision yet.");
  const total = (mean_reward ?? 0) * counts.rewards;
  const relative = total > 0 ? `, ${percent(exploration.cost / total)} of the reward received` : "";
  const next = counted(expected_rounds, "decision");
  return h("p", { class: "cost" },
    `So far ${count(rounds)} of ${counted(counts.decisions, "decision")} (${percent(share)}) went to
    an arm other than the one that looked best. That gave up about ${number(exploration.cost)} of
    reward${relative}. Over the next ${next} about ${number(expected)} more is expected.`);
}

function charts(history, state, page) {
  if (!history.length) return h("p", { class: "note" }, "Nothing to show yet.");
  let spent = 0;
  const buckets = history.map((bucket) => ({
    ...bucket, time: Date.parse(bucket.start), spent: (spent += bucket.cost),
  }));
  const series = (id, title, options, value) => ({
    id, title, ...options,
    points: buckets.map((bucket) => ({ time: bucket.time, value: value(bucket) })),
  });
  const all = [
    series("reward", "Mean reward", { kind: "line", zero: false, format: number }, meanReward),
    series("share", "Share of exploration", { kind: "bars", zero: true, format: percent }, share),
    series("cost", "Cost so far", { kind: "line", zero: true, format: number },
      ({ spent: sum }) => sum),
  ];
  const select = (id) => (time) => {
    if (state.selected[id] === time) return;
    state.selected[id] = time;
    page.redraw();
  };
  return [
    h("div", { class: "charts" },
      all.map((line) => chart(line, state.selected[line.id], select(line.id)))),
    h("details", null, h("summary", null, "The numbers as a table"), historyTable(buckets)),
  ];
}

function meanReward({ rewards, reward_sum }) {
  return rewards ? reward_sum / rewards : null;
}

function share({ decisions: all, explored }) {
  return all ? explored / all : null;
}

function historyTable(buckets) {
  const headers = ["decisions", "mean reward", "exploration", "cost so far"];
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Over time" },
    h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "from"),
        headers.map((header) => h("th", { scope: "col", class: "number" }, header)))),
      h("tbody", null, buckets.map((bucket) => h("tr", null,
        h("th", { scope: "row" }, date(bucket.time)),
        [count(bucket.decisions), number(meanReward(bucket)), percent(share(bucket)),
          number(bucket.spent)].map((cell) => h("td", { class: "number" }, cell)))))));
}

function settings(experiment) {
  const { contexts, dimension, noise, noise_estimated, expire } = experiment;
  const { created } = experiment;
  const kind = contexts ? counted(contexts.length, "context") : "open";
  const end = expire?.reward == null ? "given up" : `learned as ${number(expire.reward)}`;
  const late = expire && `${end} after ${duration(expire.after_s)}`;
  const rows = {
    policy: h("code", null, experiment.policy),
    contexts: `${kind}, ${counted(dimension, "feature")}`,
    rewards: experiment.rewards,
    noise: `${number(noise)}, ${noise_estimated ? "as estimated so far" : "as given"}`,
    "late rewards": late ?? "never expire",
    seed: String(experiment.seed),
    created: h("time", { datetime: created, title: created }, date(created)),
    server: experiment.leader,
    "log entries": count(experiment.seq),
  };
  return h("dl", { class: "settings" }, Object.entries(rows).map(([name, value]) =>
    h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** Links to the log. */
function exports({ name }, state, page) {
  const link = (format, text, save) => {
    const where = path(name, `/log?format=${format}`);
    const filename = `${name}.${format}`;
    const fetched = (event) => {
      if (save === download && !token.get()) return; // the browser saves it by itself
      event.preventDefault();
      attempt(() => save(where, filename), state, page);
    };
    return h("a", { href: where, download: filename, onclick: fetched }, text);
  };
  return h("p", { class: "exports" }, "Save the log: ",
    link("parquet", "Parquet", download), " ", link("json", "JSON", downloadEntries));
}
