// Numbers and times as text.

const SPACE = "\u202f"; // narrow, no line break
const NONE = "–";

/** A whole number in groups of three digits. */
export function count(value) {
  return value == null ? NONE : minus(group(String(value)));
}

/** A number with three significant digits. */
export function number(value) {
  if (value == null) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) {
    const [digits, power] = value.toExponential(2).split("e");
    return minus(`${digits}e${Number(power)}`);
  }
  const text = value.toPrecision(3);
  return minus(text.includes("e") || size >= 999.5 ? group(String(Number(text))) : text);
}

/** A number as text without the zeros that end it. */
export function short(text) {
  return text.replace(/\.(\d*?)0+(?!\d)/, (_, digits) => (digits ? `.${digits}` : ""));
}

/** A share as a percentage. */
export function percent(share) {
  return share == null ? NONE : `${number(100 * share)}${SPACE}%`;
}

/** `1 arm`, `2 arms`. */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** An estimate with its standard error. */
export function estimate(mean, error) {
  return error == null ? number(mean) : `${number(mean)} ± ${number(error)}`;
}

/** A duration in its largest unit. */
export function duration(seconds) {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, length]) => seconds >= 2 * length) ?? ["second", 1];
  const rounded = seconds < 10 ? Number(number(seconds)) : Math.round(seconds / size);
  return counted(rounded, unit);
}

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const SECONDS = { ...CLOCK, second: "2-digit" };
const DAY = { day: "numeric", month: "short" };
const formats = new Map();

function local(time, options) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat("en-GB", options));
  return formats.get(key).format(new Date(time));
}

/** A moment in the reader's time zone: the time today, with the date on other days. */
export function moment(time) {
  const today = new Date(time).toDateString() === new Date().toDateString();
  return local(time, today ? SECONDS : { ...DAY, ...SECONDS });
}

/** A moment with its year. */
export function date(time) {
  return local(time, { ...DAY, year: "numeric", ...CLOCK });
}

/** A moment on an axis that spans so many milliseconds. */
export function tick(time, span) {
  const day = 86_400_000;
  if (span < day / 48) return local(time, SECONDS);
  if (span < day) return local(time, CLOCK);
  return local(time, span < 4 * day ? { ...DAY, ...CLOCK } : DAY);
}

/** A moment of such an axis that was selected. */
export function reading(time, span) {
  return span < 86_400_000 / 48 ? local(time, SECONDS) : date(time);
}

function group(text) {
  return text.replace(/\B(?=(\d{3})+$)/g, SPACE);
}

function minus(text) {
  return text.replaceAll("-", "−");
}
