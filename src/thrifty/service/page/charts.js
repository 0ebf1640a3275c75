// Charts over time, and intervals, as SVG. Colours are those of page.css.

import { h } from "./dom.js";
import { reading, short, tick } from "./format.js";

const [WIDTH, HEIGHT] = [380, 190];
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 372, 10, 164];
const LONG = 10; // usual steps between two points: no line is drawn across more
const MARGIN = 4; // percent of an interval's picture that stay free at both ends

/**
 * A figure of a series over time.
 *
 * series: { id, title, kind: "line" | "bars", zero: whether the axis starts at 0,
 * format: value as text, points: [{ time: ms, value: number or null }] };
 * selected: the time of the point that is read out; select(time or null) changes it.
 */
export function chart(series, selected, select) {
  const { id, title, kind, format, points } = series;
  const known = points.filter((point) => point.value != null);
  if (!known.length) {
    const nothing = h("p", { class: "note" }, "Nothing to show yet.");
    return h("figure", { key: id, class: `chart ${id}` }, h("figcaption", null, title), nothing);
  }
  const x = timeScale(points);
  const y = valueScale(known, series.zero);
  const at = known.find((point) => point.time === selected);
  const shown = at ?? known.at(-1);
  const span = points.at(-1).time - points[0].time;
  const words = `${reading(shown.time, span)}: ${format(shown.value)}`;
  return h("figure", { key: id, class: `chart ${id}` },
    h("figcaption", null, title, h("output", { class: "readout" }, words)),
    h("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: 0, role: "slider", "aria-label": title,
      "aria-valuemin": 1, "aria-valuemax": known.length, "aria-valuenow": known.indexOf(shown) + 1,
      "aria-valuetext": words, ...listeners(known, x, at, select),
    },
      axes(points, x, y, format),
      kind === "bars" ? bars(known, x, y) : lines(points, x, y),
      at && pointer(at, x, y)));
}

/** Reading out by mouse, finger and keyboard. */
function listeners(known, x, at, select) {
  const nearest = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    const far = (point) => Math.abs(x(point.time) - place);
    select(known.reduce((best, point) => (far(point) < far(best) ? point : best)).time);
  };
  const keys = (event) => {
    const last = known.length - 1;
    const index = at ? known.indexOf(at) : last;
    const next = {
      ArrowLeft: index - 1, ArrowDown: index - 1, ArrowRight: index + 1, ArrowUp: index + 1,
      Home: 0, End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(known[Math.max(0, Math.min(last, next))].time);
  };
  return {
    onpointerdown: nearest,
    onpointermove: nearest,
    onpointerleave: (event) => event.pointerType === "mouse" && select(null),
    onkeydown: keys,
    onfocus: (event) => event.currentTarget.matches(":focus-visible") && select(known.at(-1).time),
    onblur: () => select(null),
  };
}

/** A cross-hair and a dot. */
function pointer(at, x, y) {
  return h("g", { class: "pointer" },
    h("line", { x1: x(at.time), x2: x(at.time), y1: TOP, y2: BOTTOM }),
    h("circle", { cx: x(at.time), cy: y(at.value), r: 4 }));
}

function axes(points, x, y, format) {
  const rows = y.ticks.map((value) => h("g", null,
    h("line", { x1: LEFT, x2: RIGHT, y1: y(value), y2: y(value) }),
    h("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(format(value)))));
  const [first, last] = [points[0].time, points.at(-1).time];
  const labels = first === last
    ? [[first, "middle"]]
    : [[first, "start"], [(first + last) / 2, "middle"], [last, "end"]];
  const columns = labels.map(([time, anchor]) =>
    h("text", { x: x(time), y: BOTTOM + 18, "text-anchor": anchor }, tick(time, last - first)));
  return h("g", { class: "axes" }, rows, columns);
}

function bars(known, x, y) {
  const width = Math.max(1.2, Math.min(14, (0.75 * (RIGHT - LEFT)) / known.length));
  return h("g", { class: "bars" }, known.map((point) => h("rect", {
    x: x(point.time) - width / 2, width,
    y: y(point.value), height: Math.max(0, y(0) - y(point.value)),
  })));
}

/** A line with a gap wherever a value is missing; a value alone is a dot. */
function lines(points, x, y) {
  const runs = [[]];
  const longest = LONG * usualStep(points);
  points.forEach((point, i) => {
    if (i > 0 && point.time - points[i - 1].time > longest) runs.push([]); // nothing happened
    if (point.value == null) runs.push([]);
    else runs.at(-1).push(`${x(point.time).toFixed(1)} ${y(point.value).toFixed(1)}`);
  });
  return h("g", { class: "lines" }, runs.filter((run) => run.length).map((run) => {
    const [cx, cy] = run[0].split(" ");
    return run.length > 1 ? h("path", { d: `M${run.join("L")}` }) : h("circle", { cx, cy, r: 2.5 });
  }));
}

/** The median time between two points, in milliseconds; without end if there are few. */
function usualStep(points) {
  const steps = points.slice(1).map((point, i) => point.time - points[i].time);
  steps.sort((first, second) => first - second);
  return steps.length < 4 ? Infinity : steps[Math.floor(steps.length / 2)];
}

function timeScale(points) {
  const [first, last] = [points[0].time, points.at(-1).time];
  if (first === last) return () => (LEFT + RIGHT) / 2;
  return (time) => LEFT + 8 + ((time - first) / (last - first)) * (RIGHT - LEFT - 16);
}

/** From values to heights, with round ticks. */
function valueScale(known, zero) {
  const values = known.map((point) => point.value);
  let low = Math.min(...values, ...(zero ? [0] : []));
  let high = Math.max(...values, ...(zero ? [0] : []));
  if (low === high) {
    const room = Math.abs(low) / 2 || 1;
    [low, high] = zero ? [low, high + room] : [low - room, high + room];
  }
  const step = roundStep((high - low) / 4);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const scale = (value) => BOTTOM - ((value / step - first) / (last - first)) * (BOTTOM - TOP);
  scale.ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return scale;
}

/** The next 1, 2 or 5 times a power of ten. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
}

/** The range that holds all estimates, two standard errors to both sides. */
export function commonRange(estimates) {
  const spread = ({ error }) => 2 * (error ?? 0);
  const ends = estimates.flatMap((arm) => [arm.mean - spread(arm), arm.mean + spread(arm)]);
  const low = ends.reduce((a, b) => Math.min(a, b), Infinity);
  const high = ends.reduce((a, b) => Math.max(a, b), -Infinity);
  return low < high ? [low, high] : [low - 1, high + 1];
}

/** An estimate and two standard errors to both sides, as a bar on a range that others share. */
export function interval({ mean, error }, [low, high]) {
  const x = (value) => `${MARGIN + ((value - low) / (high - low)) * (100 - 2 * MARGIN)}%`;
  const spread = 2 * (error ?? 0);
  return h("svg", { class: "interval", "aria-hidden": "true" },
    low < 0 && high > 0 && h("line", { class: "zero", x1: x(0), x2: x(0), y1: "0%", y2: "100%" }),
    error != null && h("line", {
      class: "spread", x1: x(mean - spread), x2: x(mean + spread), y1: "50%", y2: "50%",
    }),
    h("circle", { cx: x(mean), cy: "50%", r: 4 }));
}
