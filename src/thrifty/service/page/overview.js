// The overview: a line for each experiment, or how to make the first one.

import { get, token } from "./api.js";
import { h } from "./dom.js";
import { count, number, percent } from "./format.js";

const ORDER = ["active", "paused", "archived"];

export const title = "Experiments";

export async function load(signal) {
  return get("v1/experiments", signal);
}

export function render(experiments) {
  if (!experiments.length) return [h("h1", null, title), ...empty()];
  const sorted = experiments.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  return [h("h1", null, title), h("table", { class: "experiments" },
    h("thead", null, h("tr", null,
      h("th", { scope: "col" }, "experiment"),
      HEADERS.map((header) => h("th", { scope: "col", class: "number" }, header)))),
    h("tbody", null, sorted.map(line)))];
}

/** The link to an experiment, within the page. */
export function address(name) {
  return `#/experiments/${encodeURIComponent(name)}`;
}

/** The status, told by a word and a colour. */
export function badge(status) {
  return h("span", { class: `badge ${status}` }, status);
}

const HEADERS = [
  "decisions", "rewards pending", "mean reward", "exploration", "cost so far", "cost expected",
];

function line({ name, status, policy, counts, mean_reward, exploration }) {
  const next = ` in the next ${count(exploration.expected_rounds)}`;
  const cells = [
    count(counts.decisions), count(counts.waiting), number(mean_reward),
    percent(exploration.share), number(exploration.cost),
    [number(exploration.expected), h("small", null, next)],
  ];
  return h("tr", { key: name },
    h("th", { scope: "row" },
      h("a", { href: address(name) }, name), " ", badge(status), h("code", null, policy)),
    cells.map((cell, index) => h("td", { class: "number", "data-label": HEADERS[index] }, cell)));
}

/** What somebody who has just started the service can do. */
function empty() {
  const base = new URL("v1/experiments", document.baseURI).href;
  const experiment = {
    name: "shop",
    contexts: [
      { name: "mobile", arms: [[1, 0], [0, 1]], arm_names: ["banner", "video"] },
    ],
  };
  return [
    h("p", null, "There is no experiment yet. Make the first:"),
    curl(base, experiment),
    h("p", null, "Let it decide, then report the reward of that decision:"),
    curl(`${base}/shop/decisions`, { id: "first", context: "mobile" }),
    curl(`${base}/shop/rewards`, { decision: "first", reward: 0.7 }),
    h("p", { class: "note" }, "This page shows the experiment as soon as it exists."),
  ];
}

function curl(url, body) {
  const bearer = token.get() ? " -H 'Authorization: Bearer TOKEN'" : "";
  const json = "-H 'Content-Type: application/json'";
  return h("pre", { tabindex: 0 }, `curl ${url}${bearer} ${json} -d '${JSON.stringify(body)}'`);
}
