// CPU per event of a stream on its way through the relay's response handlers: bytes that pass, and every wire translated for every client
// format. Streams are the recorded ones of the dialects' fixtures, their text made longer; no network, no server.
import { cpuUsage } from "node:process";
import type { GenerationEndpoint } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { prepare } from "#server/upstream/call/attempt.ts";
import type { Call, Plan } from "#server/upstream/call/call.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { ResponseHandler } from "#server/upstream/handlers/handler.ts";
import { clientBody, type Fixture, loadFixtures } from "#test/worlds/wire-cases.ts";
import { median } from "./cases.ts";
import type { Line } from "./report.ts";

const FORMATS = ["chat", "completions", "messages", "generate", "responses"] as const;
/** Long enough that begin and end of a stream do not count. */
const EVENTS = 400;
const STREAMS = 12;
const WARMUP = 40;
const RUNS = 7;
/** Source: requirements N1. */
const TARGET_US = { passed: 2, translated: 6 } as const;

const question = "write a poem";
const BODIES: Readonly<Record<GenerationEndpoint, object>> = {
  chat: { model: "m", stream: true, messages: [{ role: "user", content: question }] },
  completions: { model: "m", stream: true, prompt: question },
  messages: { model: "m", stream: true, max_tokens: 500, messages: [{ role: "user", content: question }] },
  generate: { contents: [{ role: "user", parts: [{ text: question }] }] },
  responses: { model: "m", stream: true, input: question },
};

interface Way {
  readonly plan: Plan;
  /** One for every stream. */
  handler(): ResponseHandler;
}

/** The way that the relay would take, from the relay's own code. */
async function wayOf({ about }: Fixture, endpoint: GenerationEndpoint): Promise<Way | undefined> {
  const provider = providerOf(about.channel.type);
  if (provider === undefined) throw new Error(`no provider ${about.channel.type}`);
  const { key, base_url: baseUrl, other } = about.channel;
  const target = { provider, key, baseUrl, other };
  const asked = { endpoint, model: about.model, apiVersion: "", isStream: true };
  const plan = planCall(target, asked, () => "");
  if (plan.kind === "fault") return undefined;
  const call: Call = {
    ...asked,
    target,
    body: clientBody(Buffer.from(JSON.stringify(BODIES[endpoint]))),
    originModel: about.model,
    isArray: false,
    passHeaders: [],
    seed: "seed0000",
    cancellation: new Cancellation(),
    trace: { firstByteMs: 0, isSent: false },
  };
  const prepared = await prepare({ now: () => 0, egress: NO_WAY_OUT }, call, plan);
  return prepared.kind === "fault" ? undefined : { plan, handler: () => prepared.handler };
}

/** Requests here name no address. */
const NO_WAY_OUT = {
  send() {
    throw new Error("nothing is fetched");
  },
};

/** Takes a recorded answer apart, at the borders of its framing. */
function unitsOf(reply: Buffer, frames: Plan["dialect"]["frames"]): Buffer[] {
  const units: Buffer[] = [];
  let at = 0;
  while (at < reply.length) {
    const end = unitEnd(reply, at, frames);
    units.push(reply.subarray(at, end));
    at = end;
  }
  return units;
}

function unitEnd(reply: Buffer, at: number, frames: Plan["dialect"]["frames"]): number {
  // An AWS message begins with its length.
  if (frames === "aws") return at + reply.readUInt32BE(at);
  const border = frames === "lines" ? "\n" : reply.includes("\r\n\r\n") ? "\r\n\r\n" : "\n\n";
  const found = reply.indexOf(border, at);
  return found < 0 ? reply.length : found + border.length;
}

/** The same stream with its pieces of text repeated; undefined = it has none. */
function longer(way: Way, units: readonly Buffer[]): Buffer[] | undefined {
  const handler = way.handler();
  const reader = handler.reader();
  const observer = handler.observer();
  const isText = units.map((unit) => {
    const before = observer.output.textPieces;
    for (const event of reader.push(unit)) observer.take(event);
    return observer.output.textPieces > before;
  });
  const pieces = isText.filter(Boolean).length;
  if (pieces === 0) return undefined;
  const times = Math.ceil(EVENTS / pieces);
  return units.flatMap((unit, index) => (isText[index] ? new Array<Buffer>(times).fill(unit) : [unit]));
}

let sink = 0;

/** All that happens between two sockets. */
function pass(way: Way, units: readonly Buffer[]): void {
  const handler = way.handler();
  const reader = handler.reader();
  const observer = handler.observer();
  for (const unit of units) {
    for (const event of reader.push(unit)) {
      const action = observer.take(event);
      if (action instanceof Uint8Array) sink += action.length;
      else if (typeof action === "object") throw new Error(`the stream broke: ${action.detail}`);
    }
  }
  sink += observer.tail().length;
}

/** Unit: µs of CPU per event. */
function costOf(way: Way, units: readonly Buffer[]): number {
  for (let stream = 0; stream < WARMUP; stream += 1) pass(way, units);
  const runs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const before = cpuUsage();
    for (let stream = 0; stream < STREAMS; stream += 1) pass(way, units);
    const { user, system } = cpuUsage(before);
    runs.push((user + system) / (STREAMS * units.length));
  }
  return median(runs);
}

/** A line for each wire with a recorded stream and each client format. */
export async function translationLines(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const fixture of loadFixtures().filter(({ name }) => name.endsWith("/stream"))) {
    for (const endpoint of FORMATS) {
      const line = await lineOf(fixture, endpoint);
      if (line !== undefined) lines.push(line);
    }
  }
  if (sink === 0) throw new Error("nothing came out");
  return lines;
}

/** undefined = this row does not translate from what was recorded. */
async function lineOf(fixture: Fixture, endpoint: GenerationEndpoint): Promise<Line | undefined> {
  const way = await wayOf(fixture, endpoint);
  if (way === undefined || isAnotherFormat(way, endpoint)) return undefined;
  const units = longer(way, unitsOf(fixture.reply, way.plan.dialect.frames));
  if (units === undefined) return undefined;
  const kind = way.plan.way.name === "translate" ? "translated" : "passed";
  const cost = costOf(way, units);
  return {
    case: `${fixture.name.replace("/stream", "")} → ${endpoint}`,
    measure: `CPU µs/event, ${kind}`,
    floor: undefined,
    tollgate: cost,
    compared: undefined,
    by: "value",
    target: `≤ ${TARGET_US[kind]} µs`,
    mark: cost <= TARGET_US[kind] ? "OK" : "MISS",
  };
}

/** The row has a path of its own for this format: what is recorded is not what comes back there. */
function isAnotherFormat({ plan }: Way, endpoint: GenerationEndpoint): boolean {
  return plan.way.name === "native" && plan.dialect.native !== endpoint;
}
