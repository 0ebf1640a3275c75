// The last decisions, each with why it was taken.

import { get, path, Refused } from "./api.js";
import { commonRange, interval } from "./charts.js";
import { h } from "./dom.js";
import { count, estimate, moment, number } from "./format.js";

const LAST = 20;
const COMPARED = 20; // arms that are shown for a decision

/** The last decisions, newest first, then those that are open and no longer among them. */
export async function loadDecisions(state, signal) {
  const last = await get(path(state.name, `/decisions?last=${LAST}`), signal);
  const there = new Set(last.map(({ decision }) => decision.id));
  const older = [...state.open].filter((id) => !there.has(id));
  const kept = await Promise.all(older.map((id) => loadDecision(state, id, signal)));
  return [...last, ...kept.flat().sort((a, b) => b.decision.seq - a.decision.seq)];
}

/** A list of the decision, empty if there is none of that id. */
async function loadDecision(state, id, signal) {
  try {
    return [await get(path(state.name, `/decisions/${encodeURIComponent(id)}`), signal)];
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return [];
    throw error;
  }
}

export function decisions(experiment, last, state, page) {
  const headers = [["time"], ["context", "wide"], ["arm"], ["label", "wide"],
    ["probability", "number wide"], ["gap", "number wide"], ["reward", "number"]];
  const shown = experiment.contexts ? headers : headers.filter(([name]) => name !== "context");
  const toggle = (id) => {
    if (!state.open.delete(id)) state.open.add(id);
    page.redraw();
  };
  return h("section", { key: "decisions" },
    h("h2", null, "Last decisions"),
    last.length
      ? h("table", { class: "decisions" },
        h("thead", null, h("tr", null,
          shown.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
        h("tbody", null, last.map((detail) => rows(detail, shown.length, state, toggle))))
      : h("p", { class: "note" }, "There is no decision yet."));
}

/** A decision, and below it why, if it is open. */
function rows(detail, columns, state, toggle) {
  const { id, context, name, label, probability, gap } = detail.decision;
  const open = state.open.has(id);
  const press = { type: "button", class: "toggle", onclick: () => toggle(id) };
  const time = h("time", { datetime: detail.at, title: detail.at }, moment(detail.at));
  return [
    h("tr", { key: `decision ${id}` },
      h("td", null, h("button", { ...press, "aria-expanded": String(open) }, time)),
      columns === 7 && h("td", { class: "wide" }, context),
      h("td", null, name, context != null && h("small", { class: "narrow" }, ` in ${context}`)),
      h("td", { class: "wide" }, label),
      h("td", { class: "number wide" }, number(probability)),
      h("td", { class: "number wide" }, number(gap)),
      h("td", { class: "number" }, outcome(detail))),
    open && h("tr", { key: `why ${id}`, class: "why" },
      h("td", { colspan: columns }, why(detail))),
  ];
}

function outcome({ status, reward }) {
  if (status === "waiting") return h("em", null, "pending");
  return status === "expired" && reward == null ? h("em", null, "given up") : number(reward);
}

/** The server's sentences about a decision, and the arms that it was between. */
function why(detail) {
  const { id, seq } = detail.decision;
  const { text, outcome: ending, arms } = detail.why;
  return [
    h("p", null, [text, ending].filter(Boolean).join(" ")),
    arms.length > 0 && compared(arms),
    h("p", { class: "note" }, `decision ${id}, entry ${count(seq)} of the log`),
  ];
}

/** The arms that the decision was between, by their present estimates. */
function compared(arms) {
  const known = arms.filter((arm) => arm.mean != null).sort((a, b) => b.mean - a.mean);
  const shown = known.filter((arm, index) => index < COMPARED || arm.chosen);
  const range = commonRange(known);
  const left = known.length - shown.length;
  return h("table", { class: "compared" },
    h("thead", null, h("tr", null,
      h("th", { scope: "col" }, "arm"),
      h("th", { scope: "col", class: "number" }, "estimate now"),
      h("th", { scope: "col", class: "range" }),
      h("th", { scope: "col", class: "number wide" }, "gap now"),
      h("th", { scope: "col", class: "number wide" }, "pulls"))),
    h("tbody", null, shown.map((arm) => h("tr", { class: arm.chosen ? "best" : null },
      h("th", { scope: "row" }, arm.name, arm.chosen && h("small", null, " chosen")),
      h("td", { class: "number" }, estimate(arm.mean, arm.error)),
      h("td", { class: "range" }, interval(arm, range)),
      h("td", { class: "number wide" }, number(arm.gap)),
      h("td", { class: "number wide" }, count(arm.pulls))))),
    left > 0 && h("tfoot", null, h("tr", null,
      h("td", { colspan: 5 }, `and ${count(left)} with lower estimates`))));
}
