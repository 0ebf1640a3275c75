/**
 * Decides and rewards until its input ends, and prints a line of JSON for each acknowledgement.
 *
 * node load.js URL, for experiments `listed` and `open` as in tests/service/load.py.
 */

import { Client } from "../thrifty.js";

const client = new Client(process.argv[2], { timeout: 3, retries: 100 });
let stopping = false;
process.stdin.on("end", () => { stopping = true; }).resume();

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const draw = () => Array.from({ length: 3 }, () => [Math.random(), Math.random()]);

async function visit(name) {
  const experiment = client.experiment(name);
  const context = name === "listed" ? "a" : draw();
  const alone = Math.random() < 0.5;
  const made = alone ? [await experiment.choose(context)] : await experiment.chooseMany([context, context]);
  for (const decision of made) say({ name, decision });
  const pairs = made.map((decision) => [decision, Math.random()]);
  const said = alone ? [await experiment.learn(...pairs[0])] : await experiment.learnMany(pairs);
  pairs.forEach(([{ id }, reward], i) => say({ name, id, reward, status: said[i] }));
}

async function play(name) {
  while (!stopping) await visit(name);
}

await Promise.all(["listed", "open", "listed", "open"].map(play));
