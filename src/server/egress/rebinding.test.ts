// Names that resolve to one address when they are saved and to another when they are called (requirements S02): every connection goes to
// a checked address.
import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createEgress } from "./dispatcher.ts";
import { fetchJson } from "./fetch-json.ts";
import { guardedLookup, type Resolver } from "./lookup.ts";
import { createPolicy } from "./policy.ts";
import { BlockedError } from "./send.ts";

const policy = createPolicy({ allow: [], ownPorts: [], loopbackPort: undefined });
const PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111"];
const PRIVATE = [
  "127.0.0.1",
  "10.0.0.5",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "0.0.0.0",
  "::1",
  "::ffff:127.0.0.1",
  "fd00:ec2::254",
  "fe80::1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
];
const entry = (address: string): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 });

/** Looks up as a socket does; the addresses it may connect to, or the error. */
function lookUp(answers: readonly string[], all = true): Promise<string[] | string> {
  const find: Resolver = (_, __, callback) => callback(null, answers.map(entry));
  return new Promise((resolve) => {
    guardedLookup(policy, 443, find)("evil.example", { all }, (error, found) => {
      if (error) resolve(error instanceof BlockedError ? "blocked" : error.message);
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
    });
  });
}

test.each(PRIVATE)("a name that now resolves to %s is not connected to", async (address) => {
  expect(await lookUp([address])).toBe("blocked");
  expect(await lookUp([address], false)).toBe("blocked");
});

test("of a mixed answer only public addresses are connected to, in any order", async () => {
  for (const inner of PRIVATE) {
    for (const outer of PUBLIC) {
      expect(await lookUp([inner, outer])).toEqual([outer]);
      expect(await lookUp([outer, inner], false)).toEqual([outer]);
    }
  }
  expect(await lookUp(PUBLIC)).toEqual(PUBLIC);
  expect(await lookUp([])).toBe("blocked");
});

test("a name is checked at each look-up: public once is not public for ever", async () => {
  const answers = [["8.8.8.8"], ["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1"]];
  const find: Resolver = (_, __, callback) => callback(null, (answers.shift() ?? []).map(entry));
  const lookup = guardedLookup(policy, 80, find);
  const told: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise<void>((resolve) => {
      lookup("rebinding.example", {}, (error, address) => {
        told.push(error instanceof BlockedError ? "blocked" : String(address));
        resolve();
      });
    });
  }
  expect(told).toEqual(["8.8.8.8", "blocked", "8.8.8.8", "blocked"]);
});

test("a real name that resolves to this machine reaches no server here", async () => {
  let hits = 0;
  const server = createServer((_, res) => {
    hits += 1;
    res.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const egress = createEgress({ allow: [] });
  onTestFinished(() => egress.close());
  for (const host of ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"]) {
    const result = await fetchJson(egress, { url: `http://${host}:${port}/`, headers: [], timeoutMs: 2_000 });
    expect(result).toMatchObject({ kind: "fault", code: "blocked" });
  }
  expect(hits).toBe(0);
});
