/** A server with the contract of the service that fails as it is told to, one fault per request. */

import { createServer } from "node:http";

/**
 * Serve while a function runs. Faults: {status, after} refuses, {drop: true} carries a request out
 * and breaks the connection, {slow: ms} answers late, {reply} answers with something else.
 */
export async function withServer(run) {
  const service = { faults: [], requests: [], decisions: new Map(), rewards: new Map() };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = text === "" ? undefined : JSON.parse(text);
    service.requests.push({ method: request.method, path: request.url, body, headers: request.headers });
    const fault = service.faults.shift() ?? {};
    if (fault.status) {
      const headers = fault.after === undefined ? {} : { "Retry-After": String(fault.after) };
      const error = { where: "service", message: `told to answer ${fault.status}` };
      return response.writeHead(fault.status, headers).end(JSON.stringify({ error }));
    }
    const reply = answered(service, request, body);
    if (fault.drop) return request.socket.destroy();
    if (fault.slow) await new Promise((resolve) => setTimeout(resolve, fault.slow));
    return response.writeHead(200).end(fault.reply ?? JSON.stringify(reply));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${server.address().port}`, service);
  } finally {
    server.closeAllConnections?.();
    server.close();
  }
}

function answered(service, request, body) {
  if (request.url.endsWith("/decisions")) {
    return Array.isArray(body) ? body.map((one) => decide(service, one)) : decide(service, body);
  }
  if (request.url.endsWith("/rewards")) {
    return Array.isArray(body) ? body.map((one) => reward(service, one)) : reward(service, body);
  }
  return { name: "shop", status: body?.status ?? "active" };
}

function decide({ decisions }, { id, context = null, names = ["0"] }) {
  if (!decisions.has(id)) {
    const seq = decisions.size + 1;
    decisions.set(id, { id, seq, context, arm: 0, name: names[0], label: "turn", probability: 1, gap: 0 });
  }
  return decisions.get(id);
}

function reward({ rewards }, { decision, reward }) {
  const status = rewards.has(decision) ? "already" : "learned";
  rewards.set(decision, reward);
  return { decision, seq: 1, status };
}
