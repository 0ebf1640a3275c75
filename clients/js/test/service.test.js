/** The client against a real service, whose address is in THRIFTY_URL. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../thrifty.js";

const url = process.env.THRIFTY_URL;
const client = new Client(url, { token: process.env.THRIFTY_TOKEN });
const contexts = [
  { name: "phone", arms: [[1, 0], [0, 1]], arm_names: ["banner", "video"] },
  { name: "desk", arms: [[1, 0.5], [0.5, 1]], arm_names: ["banner", "video"] },
];

test("an experiment from beginning to end", async () => {
  const shop = await client.create("js shop", { contexts, rewards: "bernoulli", seed: 3 });
  const decision = await shop.choose("phone");
  assert.equal(decision.context, "phone");
  assert.equal(await shop.learn(decision, true), "learned");
  assert.equal(await shop.learn(decision.id, 1), "already");
  const why = await shop.explain(decision);
  assert.deepEqual([why.decision, why.status, why.reward], [decision, "rewarded", 1]);
  assert.deepEqual(why.why.arms.map((arm) => arm.name), ["banner", "video"]);
  const many = await shop.chooseMany(["desk", { context: "phone", available: ["video"], id: "mine" }]);
  assert.deepEqual(many.map(({ context, id }) => [context, id === "mine"]), [["desk", false], ["phone", true]]);
  assert.equal(many[1].name, "video");
  assert.deepEqual(await shop.learnMany([[many[0], 0], ["mine", 1]]), ["learned", "learned"]);
  const info = await shop.info();
  assert.deepEqual([info.counts.decisions, info.counts.rewards], [3, 3]);
  assert.ok((await client.experiments()).some((line) => line.name === "js shop"));
  const kinds = [];
  for await (const entry of shop.log(1)) kinds.push(entry.kind);
  assert.deepEqual(kinds.sort(), [...Array(3).fill("decision"), ...Array(3).fill("reward")]);
});

test("features that come with each decision", async () => {
  const offers = await client.create("js offers", { dimension: 2 });
  const decision = await offers.choose([[0.3, 1], new Float32Array([0.75, 0.25])], { names: ["a", "b"] });
  assert.ok(["a", "b"].includes(decision.name));
  assert.equal(await offers.learn(decision, 0.7), "learned");
});

test("an experiment is paused, resumed, changed and archived", async () => {
  const made = await client.create("js changing", { contexts });
  assert.equal((await made.pause()).status, "paused");
  await assert.rejects(made.choose("phone"), { name: "ServiceError", status: 409 });
  assert.equal((await made.resume()).status, "active");
  const arm = { context: "phone", features: [0.7, 0.7], name: "both" };
  assert.equal((await made.change({ add_arm: arm })).arms.length, 5);
  assert.equal((await made.archive()).status, "archived");
});

test("errors are the service's sentences", async () => {
  await assert.rejects(client.experiment("none").info(), {
    name: "ServiceError", status: 404, where: "experiment", message: /^experiment: no experiment none/,
  });
  await assert.rejects(client.experiment("js shop").choose("phnoe"), {
    status: 422, message: "context: unknown context 'phnoe'; did you mean 'phone'?",
  });
  await assert.rejects(client.create("js shop", { dimension: 2 }), { status: 409 });
});
