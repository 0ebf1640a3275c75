// The page: which view is shown, its updates, and what is said about the connection.

import { Refused, token } from "./api.js";
import { h, patch } from "./dom.js";
import * as experiment from "./experiment.js";
import { moment } from "./format.js";
import { Poll } from "./live.js";
import * as overview from "./overview.js";

const [view, connection, tokenForm, forget] = ["view", "connection", "token", "forget"]
  .map((id) => document.getElementById(id));
let poll = null;
let failing = false;

/** The experiment that the address names, or null for the overview. */
function named() {
  const found = location.hash.match(/^#\/experiments\/(.+)$/);
  try {
    return found && decodeURIComponent(found[1]);
  } catch {
    return null; // not an address of ours
  }
}

function open() {
  poll?.stop();
  report(null);
  tokenForm.hidden = true;
  patch(view, [h("p", { class: "loading note" }, "Loading…")]);
  const name = named();
  document.title = `${name ?? overview.title} · thrifty`;
  poll = name === null ? openOverview() : openExperiment(name);
}

function openOverview() {
  return new Poll(overview.load, (data) => patch(view, overview.render(data)), report);
}

function openExperiment(name) {
  const state = experiment.start(name);
  let data = null;
  let due = false;
  const draw = () => {
    due = false;
    if (!data || state.name !== named()) return;
    patch(view, experiment.render(data, state, page).filter(Boolean));
  };
  const page = {
    redraw: () => {
      if (!due) requestAnimationFrame(draw);
      due = true;
    },
    reload: () => poll.now(),
    refused: askForToken,
  };
  const show = (loaded) => {
    data = loaded;
    draw();
  };
  return new Poll((signal) => experiment.load(state, signal), show, report);
}

/** Says since when the server cannot be reached, or what it says instead. */
function report(error, since) {
  if (failing && !error) tokenForm.hidden = true;
  failing = error !== null;
  connection.hidden = !failing;
  forget.hidden = !token.get();
  if (!failing) return;
  view.querySelector(".loading")?.remove();
  const stale = view.querySelector("h1") ? " Showing the last data received." : "";
  if (!view.firstChild && named() !== null) patch(view, [experiment.back()]);
  connection.textContent = error instanceof Refused
    ? `${error.message} (since ${moment(since)}).${stale}`
    : `Disconnected since ${moment(since)}.${stale}`;
  askForToken(error);
}

function askForToken(error) {
  if (error instanceof Refused && error.needsToken) tokenForm.hidden = false;
}

tokenForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("token-field");
  token.set(field.value.trim());
  field.value = "";
  tokenForm.hidden = true;
  poll.now();
});

forget.addEventListener("click", () => {
  token.forget();
  open();
});

addEventListener("hashchange", () => {
  open();
  view.focus({ preventScroll: true });
  scrollTo(0, 0);
});

open();
