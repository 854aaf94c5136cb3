// What it costs where all is well that connections rest between calls, and are watched for one turn before they are used again (requirements
// C20, C23): 5,000 calls of 50 callers, beside node:http, whose agent does neither. The upstream is a process of its own.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createEgress } from "#server/egress/dispatcher.ts";
import { ask } from "#test/emulators/raw-http.ts";
import { median } from "./cases.ts";
import { startService } from "./processes.ts";
import type { Line } from "./report.ts";

const CALLS = 5_000;
const CALLERS = 50;
const PAIRS = 5;
/** Callers think between two calls, as real ones do: else the upstream's own speed is measured. */
const PAUSE_MS = 10;
/** Source: requirements C23. */
const MOST_ADDED_MS = 0.1;
const MOST_CONNECTIONS = 3 * CALLERS;
const BODY = Buffer.from('{"model":"m"}');
const OPENED = "net.client.socket";

interface Run {
  readonly p50Ms: number;
  readonly connections: number;
}

/** Throws: when a call fails. */
type Call = () => Promise<unknown>;

async function measure(call: Call): Promise<Run> {
  let [next, connections] = [0, 0];
  const count = () => {
    connections += 1;
  };
  const times: number[] = [];
  const caller = async () => {
    while (next < CALLS) {
      next += 1;
      const startMs = performance.now();
      await call();
      times.push(performance.now() - startMs);
      await pause(PAUSE_MS);
    }
  };
  subscribe(OPENED, count);
  await Promise.all(Array.from({ length: CALLERS }, caller));
  unsubscribe(OPENED, count);
  return { p50Ms: median(times), connections };
}

async function throughEgress(origin: string): Promise<Run> {
  const egress = createEgress({ allow: [{ cidr: "127.0.0.1", port: undefined }] });
  const route = { owner: "channel 1", proxies: [] };
  const run = await measure(async () => {
    const { fault, status } = await ask(egress, { origin, route, body: BODY }).told;
    if (fault !== undefined || status !== 200) throw new Error(`the upstream answered ${status}`);
  });
  egress.close();
  return run;
}

async function throughNode(origin: string): Promise<Run> {
  const agent = new Agent({ keepAlive: true, scheduling: "lifo" });
  const headers = { "content-length": BODY.length };
  const run = await measure(
    () =>
      new Promise((resolve, reject) => {
        request(origin, { agent, method: "POST", headers }, (res) => res.resume().on("end", resolve))
          .on("error", reject)
          .end(BODY);
      }),
  );
  agent.destroy();
  return run;
}

/** Two lines: connections, and the median time of a call. */
export async function reuseLines(): Promise<Line[]> {
  const { port } = await startService("bench/upstream.ts");
  const origin = `http://127.0.0.1:${port}`;
  const ours: number[] = [];
  const plain: number[] = [];
  const added: number[] = [];
  const connections: number[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const floor = await throughNode(origin);
    const run = await throughEgress(origin);
    // The first pair warms the code up.
    if (pair === 0) continue;
    ours.push(run.p50Ms);
    plain.push(floor.p50Ms);
    added.push(run.p50Ms - floor.p50Ms);
    connections.push(run.connections);
  }
  const name = `${CALLS} calls of ${CALLERS} callers`;
  const most = Math.max(...connections);
  const more = median(added);
  return [
    {
      ...{ case: name, measure: "connections, most of a run", floor: undefined, tollgate: most },
      ...{ compared: undefined, by: "value", target: `≤ ${MOST_CONNECTIONS}` },
      mark: most <= MOST_CONNECTIONS ? "OK" : "MISS",
    },
    {
      ...{ case: name, measure: "ms p50, beside node:http", floor: median(plain) },
      ...{ tollgate: median(ours), compared: more, by: "added", target: `≤ +${MOST_ADDED_MS} ms` },
      mark: more <= MOST_ADDED_MS ? "OK" : "MISS",
    },
  ];
}
