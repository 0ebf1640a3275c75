/** The client against a server that refuses, is slow, breaks connections and answers nonsense. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, InvalidInput, newId, ServiceError, Unreachable } from "../thrifty.js";
import { withServer } from "./fake.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const seconds = async (run) => {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
};

for (const fault of [{ status: 503 }, { status: 429 }, { status: 502 }, { drop: true }, { slow: 600 }]) {
  test(`a decision without an answer is asked for again under its id: ${JSON.stringify(fault)}`, () =>
    withServer(async (url, service) => {
      service.faults.push(fault, fault);
      const shop = new Client(url, { timeout: 0.4, retries: 3 }).experiment("shop");
      const decision = await shop.choose("phone");
      assert.equal(service.requests.length, 3);
      assert.deepEqual([...service.decisions.keys()], [decision.id]);
      assert.match(decision.id, UUID);
    }));
}

test("a reward without an answer is learned once", () => withServer(async (url, service) => {
  const shop = new Client(url).experiment("shop");
  const decision = await shop.choose("phone", { id: "mine" });
  service.faults.push({ drop: true });
  assert.equal(await shop.learn(decision, true), "already");
  assert.deepEqual([...service.rewards], [["mine", 1]]);
}));

test("pauses grow, and are at least what the server asks for", () => withServer(async (url, service) => {
  const shop = new Client(url).experiment("shop");
  service.faults.push({ status: 503 }, { status: 503 }, { status: 503 });
  assert.ok(await seconds(() => shop.choose("phone")) >= 0.05 + 0.1 + 0.2);
  service.faults.push({ status: 429, after: 0.7 });
  assert.ok(await seconds(() => shop.choose("phone")) >= 0.7);
}));

test("there are so many retries, and then the server's error", () => withServer(async (url, service) => {
  service.faults.push(...Array(5).fill({ status: 503 }));
  const client = new Client(url, { retries: 2 });
  await assert.rejects(client.experiment("shop").choose("phone"), (error) =>
    error instanceof ServiceError && error.status === 503 && error.where === "service"
    && error.message === "service: told to answer 503");
  assert.equal(service.requests.length, 3);
}));

test("a pause beyond the time of all attempts is not waited for", () => withServer(async (url, service) => {
  service.faults.push({ status: 503, after: 3600 });
  await assert.rejects(new Client(url).experiment("shop").choose("phone"), ServiceError);
  assert.equal(service.requests.length, 1);
}));

test("a change that may have been made is not made again", () => withServer(async (url, service) => {
  const client = new Client(url);
  const shop = client.experiment("shop");
  const calls = [() => client.create("shop", { dimension: 2 }), () => shop.change({ policy: "lints" })];
  for (const call of calls) {
    service.requests.length = 0;
    service.faults.push({ drop: true });
    await assert.rejects(call, (error) => error instanceof Unreachable
      && error.message.endsWith("; whether the change was made is not known"));
    assert.equal(service.requests.length, 1);
  }
  service.faults.push({ drop: true });
  assert.equal((await shop.pause()).status, "paused");
  service.faults.push({ status: 503 }); // not carried out
  assert.equal((await client.create("shop", { dimension: 2 })).name, "shop");
}));

test("nobody at the address", async () => {
  let gone;
  await withServer(async (url) => { gone = url; });
  await assert.rejects(new Client(gone, { retries: 1 }).experiments(), (error) =>
    error instanceof Unreachable && error.message.startsWith(`${gone}: `)
    && error.message.endsWith("is the service running there?"));
});

test("answers to something else are not used", () => withServer(async (url, service) => {
  const shop = new Client(url, { retries: 1 }).experiment("shop");
  const other = { id: "b", seq: 1, arm: 0, name: "x" };
  const cases = [
    [() => shop.choose("x", { id: "a" }), JSON.stringify(other),
      "the answer is about decision 'b' instead of 'a'; it was not used"],
    [() => shop.chooseMany(["x"]), "[]", "the answer has 0 parts instead of 1; it was not used"],
    [() => shop.learn("a", 1), '{"decision": "b", "status": "learned"}',
      "the answer is about decision 'b' instead of 'a'; it was not used"],
    [() => shop.info(), '{"name": "ads"}',
      "the answer is about experiment 'ads' instead of 'shop'; it was not used"],
    [() => shop.choose("x"), "<html>",
      "not an answer of a thrifty service (status 200): it is not JSON"],
    [() => shop.choose("x"), "",
      "not an answer of a thrifty service (status 200): it is not JSON"],
    [() => shop.choose("x"), "[7]",
      "not an answer of a thrifty service (status 200): it has another form"],
  ];
  for (const [call, reply, message] of cases) {
    service.faults.push({ reply });
    await assert.rejects(call, { name: "ServiceError", message });
  }
}));

test("a redirection is not followed: a token goes nowhere else", () => withServer(async (url, service) => {
  service.faults.push({ status: 302 });
  await assert.rejects(new Client(url, { token: "th_a" }).experiment("shop").info(), {
    message: "not an answer of a thrifty service (status 302): it leads to another address",
  });
  assert.equal(service.requests.length, 1);
}));

test("a token is sent, and a path is kept", () => withServer(async (url, service) => {
  await new Client(`${url}/base/`, { token: "th_a" }).experiment("a b/c").info().catch(() => {});
  const [{ path, headers }] = service.requests;
  assert.deepEqual([path, headers.authorization], ["/base/v1/experiments/a%20b%2Fc", "Bearer th_a"]);
}));

test("features are lists or typed arrays, a row per arm", () => withServer(async (url, service) => {
  const shop = new Client(url).experiment("shop");
  await shop.choose([new Float64Array([1, 2]), [3, 4]], { names: ["red", "blue"] });
  const [{ body }] = service.requests;
  assert.deepEqual([body.features, body.names], [[[1, 2], [3, 4]], ["red", "blue"]]);
}));

const mistakes = [
  [(e) => e.choose([[1, NaN]]), "features[0][1]: a finite number expected, got NaN"],
  [(e) => e.choose([["1"]]), "features[0][0]: a finite number expected, got 1"],
  [(e) => e.choose([1, 2]), "features[0]: a list of numbers expected, got 1"],
  [(e) => e.choose(7), "context: the name of a context, or features expected, got 7"],
  [(e) => e.choose(), "context: pass the name of a context, or features"],
  [(e) => e.choose("x", { avaliable: [] }), "choose: unknown option 'avaliable'; known: names, available, id"],
  [(e) => e.choose("x", "a"), 'choose: options such as {id: "..."} expected, got a'],
  [(e) => e.choose("x", { id: 3 }), "id: text expected, got 3"],
  [(e) => e.chooseMany("ab"), "contexts: a list expected, got ab"],
  [(e) => e.chooseMany(["x", { contxt: "y" }]), "contexts[1]: unknown option 'contxt'; known: context, features, names, available, id"],
  [(e) => e.learn("a", "1"), "reward: a finite number expected, got 1"],
  [(e) => e.learn({}, 1), "decision: a decision or its id expected, got {}"],
  [(e) => e.learnMany([["a", 1], 7]), "[1]: a list expected, got 7"],
  [(e) => e.explain(".."), "decision: a name expected, got .."],
  [(e) => e.log(-1).next(), "after: a whole number of at least 0 expected, got -1"],
];
for (const [call, message] of mistakes) {
  test(`nothing is sent: ${message}`, () => withServer(async (url, service) => {
    const shop = new Client(url).experiment("shop");
    await assert.rejects(async () => call(shop), { name: "InvalidInput", message });
    assert.equal(service.requests.length, 0);
  }));
}

const refused = [
  [["127.0.0.1:8080"], /^url: pass an address such as/],
  [["ftp://host"], /^url: pass an address such as/],
  [["http://user:word@host"], /^url: .*, without user, query or fragment$/],
  [["http://a", { timeout: 0 }], /^timeout: seconds above 0/],
  [["http://a", { retries: -1 }], /^retries: a whole number from 0/],
  [["http://a", { token: "th_secret\n" }], /^token: must be letters, digits and signs, without spaces$/],
  [["http://a", { tokn: "a" }], /^Client: unknown option 'tokn'; known: token, timeout, retries$/],
];
for (const [parameters, message] of refused) {
  test(`no client: ${message}`, () => {
    assert.throws(() => new Client(...parameters), (error) =>
      error instanceof InvalidInput && message.test(error.message) && !error.message.includes("secret"));
  });
}

test("ids are UUIDs of version 7, distinct and in order", () => {
  const ids = Array.from({ length: 20_000 }, newId);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual([...ids].sort(), ids);
  assert.ok(ids.every((id) => UUID.test(id)));
  const time = parseInt(ids[0].replaceAll("-", "").slice(0, 12), 16);
  assert.ok(Math.abs(time - Date.now()) < 60_000);
});
