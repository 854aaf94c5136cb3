// What the rules of a channel cost a large request: fifty of them, of which each changes something, on a body of one MiB (requirements C34).
// No network, no server.
import { cpuUsage } from "node:process";
import { providers } from "#contract/providers.ts";
import { Rewrite } from "#contract/rewrite.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { clientBody } from "#test/worlds/wire-cases.ts";
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
  const [provider] = providers;
  if (provider === undefined) throw new Error("no provider");
  const target = { provider, key: "k", baseUrl: "https://up.example", other: "" };
  const asked = { endpoint: "chat", model: "m", apiVersion: "", isStream: false } as const;
  const plan = planCall(target, asked, () => "");
  if (plan.kind === "fault") throw new Error(plan.publicMessage);
  const bytes = bodyOfSize();
  const facts = { header: () => undefined, attempt: 1, userId: 1, maxTokens: undefined, nowMs: 0 };
  const call = {
    ...asked,
    ...{
      target,
      facts,
      body: clientBody(bytes),
      originModel: "m",
      isArray: false,
      passHeaders: [],
      seed: "s",
    },
    cancellation: new Cancellation(),
    trace: { firstByteMs: 0, isSent: false },
  };
  const hash = (text: string) => text;
  const rules = new CompiledRules({ channelId: 1, rewrite: fiftyRules(), statusMap: undefined, hash });
  const prepared = {
    kind: "prepared",
    ...{ bytes, headers: [], dropped: [] },
    // No answer is read.
    handler: undefined as never,
  } as const;
  const runs: number[] = [];
  for (let run = 0; run < WARMUP + RUNS; run += 1) {
    const before = cpuUsage();
    const { outcome } = rules.run(call, plan, prepared);
    const { user, system } = cpuUsage(before);
    if (run >= WARMUP) runs.push((user + system) / 1_000);
    if (outcome.kind === "fault" || outcome.bytes.length <= bytes.length)
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
