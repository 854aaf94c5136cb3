// What the rules of a channel cost a large request: fifty of them, of which each changes something, on a body of one MiB (requirements C34).
// No network, no server.
import { cpuUsage } from "node:process";
import { Rewrite } from "#contract/rewrite.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import { median } from "./cases.ts";
import type { Line } from "./report.ts";

const RULES = 50;
const BYTES = 2 ** 20;
const WARMUP = 20;
const RUNS = 25;
/** Source: requirements C34. */
const TARGET_MS = 5;

/** A conversation of one MiB. */
function bodyOfSize(): Buffer {
  const message = { role: "user", content: "x".repeat(5_000) };
  const count = Math.ceil(BYTES / JSON.stringify(message).length);
  const messages = Array.from({ length: count }, () => message);
  return Buffer.from(JSON.stringify({ model: "m", temperature: 1, user: "u", messages }));
}

/** Each changes the body: fields of its own, and some that stand there; every tenth only for texts that are like a pattern. */
function fiftyRules(): Rewrite {
  const rules = Array.from({ length: RULES }, (_, index) => ({
    id: `r${index}`,
    ...(index % 10 === 0 && { when: { like: { "/user": "u*" }, models: ["m*"] } }),
    do: [
      index % 5 === 0
        ? { op: "set", path: "/temperature", value: index / 100 }
        : { op: "default", path: `/x${index}/y`, value: [index, "text"] },
    ],
  }));
  return Rewrite.parse({ v: 1, rules });
}

/** One line: the CPU of all rules on the body. Throws: when they do not do what they say. */
export function rewriteLines(): Line[] {
  const bytes = bodyOfSize();
  const facts = { header: () => undefined, attempt: 1, userId: 1, maxTokens: undefined, nowMs: 0 };
  const asked = { target: { key: "k" }, endpoint: "chat", model: "m", originModel: "m" } as const;
  const subject = { ...asked, isStream: false, seed: "s", facts };
  const hash = (text: string) => text;
  const rules = new CompiledRules({ channelId: 1, rewrite: fiftyRules(), statusMap: undefined, hash });
  const runs: number[] = [];
  for (let run = 0; run < WARMUP + RUNS; run += 1) {
    const before = cpuUsage();
    const { outcome } = rules.run(subject, { reach: "request", body: bytes, format: "chat" });
    const { user, system } = cpuUsage(before);
    if (run >= WARMUP) runs.push((user + system) / 1_000);
    if (outcome.kind === "fault" || (outcome.body?.length ?? 0) <= bytes.length)
      throw new Error("the rules changed nothing");
  }
  const ms = median(runs);
  return [
    {
      case: `${RULES} rules on a body of 1 MiB`,
      measure: "CPU ms/request",
      floor: undefined,
      tollgate: ms,
      compared: undefined,
      by: "value",
      target: `≤ ${TARGET_MS} ms`,
      mark: ms <= TARGET_MS ? "OK" : "MISS",
    },
  ];
}
