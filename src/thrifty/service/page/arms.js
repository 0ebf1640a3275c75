// Arms by context, or coefficients where contexts are open: estimates, intervals and pulls.

import { commonRange, interval } from "./charts.js";
import { h } from "./dom.js";
import { count, counted, estimate, number } from "./format.js";

const MANY = 20; // from here on there is a filter
const MOST = 200; // rows that are shown at once

export function arms({ arms: all, contexts }, state, page) {
  const title = contexts ? "Arms by context" : "Coefficients";
  if (!all.length) return null;
  const wanted = state.filter.trim().toLowerCase();
  const words = ({ context, name }) => `${context ?? ""} ${name}`.toLowerCase();
  const found = all.filter((arm) => words(arm).includes(wanted));
  const range = commonRange(all);
  const best = new Set(contexts ? byContext(all).flatMap(([, group]) => bestOf(group)) : []);
  return h("section", { key: "arms" },
    h("h2", null, title),
    all.length > MANY && filter(state, page, found.length, all.length),
    h("table", { class: contexts ? "arms" : "arms open" },
      h("thead", null, h("tr", null,
        h("th", { scope: "col" }, contexts ? "arm" : "feature"),
        h("th", { scope: "col", class: "number" }, "estimate"),
        h("th", { scope: "col", class: "range" }, ends(range)),
        contexts && h("th", { scope: "col", class: "number pulls" }, "pulls"))),
      byContext(found.slice(0, MOST)).map(([context, group]) =>
        h("tbody", { key: `context ${context}` }, contexts && contextRow(context),
          group.map((arm) => row(arm, range, best.has(arm)))))),
    found.length > MOST
      && h("p", { class: "note" }, `${count(found.length - MOST)} more: use the filter.`),
    h("p", { class: "note" },
      `Estimated ${contexts ? "mean reward" : "coefficient"} ± its standard error. The bar spans two
      standard errors to both sides, on the same scale for all.
      ${contexts ? "The best estimate of each context is in bold." : ""}`));
}

function contextRow(context) {
  return h("tr", null, h("th", { class: "context", scope: "rowgroup", colspan: 4 }, context));
}

function filter(state, page, found, all) {
  const typed = (event) => {
    state.filter = event.target.value;
    page.redraw();
  };
  return h("p", { class: "filter" },
    h("label", { for: "filter" }, "Filter"),
    h("input", {
      id: "filter", type: "search", autocomplete: "off", spellcheck: "false", oninput: typed,
    }),
    h("span", { class: "note", role: "status" },
      found < all ? `${count(found)} of ${count(all)}` : counted(all, "row")));
}

/** The ends of the common scale. */
function ends([low, high]) {
  return h("span", { class: "ends" }, h("span", null, number(low)), h("span", null, number(high)));
}

function byContext(all) {
  const groups = new Map();
  for (const arm of all) {
    if (!groups.has(arm.context)) groups.set(arm.context, []);
    groups.get(arm.context).push(arm);
  }
  return [...groups];
}

/** A list of the arm with the highest estimate, empty if several have it. */
function bestOf(group) {
  const highest = group.reduce((value, arm) => Math.max(value, arm.mean), -Infinity);
  const best = group.filter((arm) => arm.mean === highest);
  return best.length === 1 ? best : [];
}

function row(arm, range, best) {
  return h("tr", { class: best ? "best" : null },
    h("th", { scope: "row" }, arm.name),
    h("td", { class: "number" }, estimate(arm.mean, arm.error)),
    h("td", { class: "range" }, interval(arm, range)),
    arm.context != null && h("td", { class: "number" }, count(arm.pulls)));
}
