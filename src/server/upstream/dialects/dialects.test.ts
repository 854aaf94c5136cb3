// Every recorded case of every dialect, through the very code that calls an upstream: the request on the wire, the reply the
// client gets, the usage read from it, and the same again with the reply cut at every byte.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type EndpointName, providerOf } from "#contract/providers.ts";
import type { EgressRequest, Sink } from "#server/egress/send.ts";
import { attempt } from "#server/upstream/attempt.ts";
import type { ClientBody } from "#server/upstream/body.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import { asObject, Cancellation } from "#server/upstream/hub.ts";
import { wholeObject } from "#server/upstream/json.ts";
import { createTokenCache } from "#server/upstream/signers/token-cache.ts";
import { readUsage } from "#server/upstream/usage.ts";

interface Case {
  channel: { type: number; base_url: string; other: string; key: string };
  endpoint: EndpointName;
  stream: boolean;
  model: string;
  /** What the client asked for, where a mapping gave another name. */
  originModel?: string;
  status: number;
  contentType: string;
  expect: { text?: string; usage?: object; fault?: Partial<RelayFault> };
}

interface Fixture {
  readonly name: string;
  readonly folder: string;
  readonly about: Case;
  readonly request: Buffer;
  readonly wire: { url: string; headers: Record<string, string>; body: string };
  readonly reply: Buffer;
  readonly clientReply: Buffer;
}

const FOLDER = join(import.meta.dirname, "fixtures");
/** Fixture replies say what time it is; requests that are signed with the time say this one. */
const NOW_MS = 1_760_000_000_000;
const BOUNDS = { promptTokens: 1e6, completionTokens: 1e6 };

function load(path: string): Fixture {
  const folder = dirname(join(FOLDER, path));
  const read = (name: string) => readFileSync(join(folder, name));
  const isStream = ["wire-reply.sse", "client-reply.sse"].some((file) => existsSync(join(folder, file)));
  const suffix = isStream ? "sse" : "json";
  // Binary replies are kept as hexadecimal text.
  const isBinary = existsSync(join(folder, "wire-reply.hex"));
  const reply = isBinary
    ? Buffer.from(read("wire-reply.hex").toString().replace(/\s/g, ""), "hex")
    : read(`wire-reply.${suffix}`);
  const clientReply = existsSync(join(folder, `client-reply.${suffix}`))
    ? read(`client-reply.${suffix}`)
    : reply;
  // The folders hold what mkdir and an editor put there: the forms of Case and Fixture.
  const about = JSON.parse(read("case.json").toString()) as Case;
  const wire = JSON.parse(read("wire-request.json").toString()) as Fixture["wire"];
  return {
    name: dirname(path),
    folder,
    about,
    request: read("client-request.json"),
    wire,
    reply,
    clientReply,
  };
}

const fixtures = globSync("*/*/case.json", { cwd: FOLDER }).sort().map(load);

function bodyOf(bytes: Buffer): ClientBody {
  const object = wholeObject(bytes);
  const values = asObject(JSON.parse(bytes.toString()));
  if (object === undefined || values === undefined) throw new Error("the client's request is no object");
  return { bytes, object, model: values["model"] };
}

interface Run {
  readonly sent: EgressRequest;
  readonly result: WholeReply | StreamReply | RelayFault;
  /** What the client gets. */
  readonly bytes: Buffer;
  readonly text: string;
}

/** Calls the fixture's upstream, whose answer comes in the given pieces. */
async function run({ about, request, reply }: Fixture, cuts: readonly number[]): Promise<Run> {
  const provider = providerOf(about.channel.type);
  if (provider === undefined) throw new Error(`no provider ${about.channel.type}`);
  let sent: EgressRequest | undefined;
  const send = (order: EgressRequest, sink: Sink) => {
    sent = order;
    const borders = [0, ...cuts, reply.length];
    queueMicrotask(() => {
      sink.onStart(about.status, { "content-type": about.contentType });
      for (const [index, from] of borders.slice(0, -1).entries())
        sink.onData(reply.subarray(from, borders[index + 1]));
      sink.onEnd();
    });
    return { isSent: true, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  };
  const { key, base_url: baseUrl, other } = about.channel;
  const result = await attempt(
    {
      egress: { send },
      credentials: createTokenCache({ egress: { send }, now: () => NOW_MS }),
      now: () => NOW_MS,
      optionText: () => "",
      limits: { firstByteMs: 0, idleMs: 0, totalMs: 0 },
    },
    {
      target: { provider, key, baseUrl, other },
      endpoint: about.endpoint,
      body: bodyOf(request),
      model: about.model,
      originModel: about.originModel ?? about.model,
      isStream: about.stream,
      isArray: false,
      apiVersion: "",
      passHeaders: [],
      seed: "seed0000",
      cancellation: new Cancellation(),
      trace: { firstByteMs: 0, isSent: false },
    },
  );
  if (sent === undefined) throw new Error("nothing was sent");
  return { sent, result, ...(await collect(result)) };
}

async function collect(result: Run["result"]): Promise<{ bytes: Buffer; text: string }> {
  if (result.kind === "fault") return { bytes: Buffer.alloc(0), text: "" };
  if (result.kind === "whole") return { bytes: result.body, text: result.text() };
  const pieces: Uint8Array[] = [];
  const fault = await new Promise<RelayFault | undefined>((resolve) => {
    result.listen({ onBytes: (bytes) => pieces.push(Uint8Array.from(bytes)), onEnd: resolve });
  });
  expect(fault).toBeUndefined();
  return { bytes: Buffer.concat([...pieces, result.tail()]), text: result.text() };
}

function check(fixture: Fixture, { result, bytes, text }: Run): void {
  const { fault, usage, text: expected } = fixture.about.expect;
  if (fault !== undefined) {
    expect(result).toMatchObject({ kind: "fault", ...fault });
    return;
  }
  if (result.kind === "fault") throw new Error(`unexpected fault ${JSON.stringify(result)}`);
  expect(bytes.toString()).toBe(fixture.clientReply.toString());
  expect(text).toBe(expected);
  expect(result.usage && readUsage(result.usage, BOUNDS, result.quirks)?.usage).toEqual(usage);
}

describe.each(fixtures)("$name", (fixture) => {
  it("sends the recorded request", async () => {
    const { sent } = await run(fixture, []);
    expect(sent.origin + sent.path).toBe(fixture.wire.url);
    expect(Buffer.from(sent.body ?? []).toString()).toBe(fixture.wire.body);
    const headers = new Map<string, string>();
    for (let index = 0; index < sent.headers.length; index += 2) {
      headers.set(sent.headers[index] ?? "", sent.headers[index + 1] ?? "");
    }
    expect(Object.fromEntries(headers)).toMatchObject(fixture.wire.headers);
  });

  it("gives the client the recorded reply and reads its usage", async () => {
    check(fixture, await run(fixture, []));
  });

  it("does so wherever the reply is cut", async () => {
    for (let cut = 1; cut < fixture.reply.length; cut += 1) check(fixture, await run(fixture, [cut]));
  });
});

it("says the same in a plain and in a streamed reply", () => {
  const byDialect = Map.groupBy(fixtures, ({ name }) => name.split("/")[0]);
  for (const [dialect, cases] of byDialect) {
    const of = (kind: string) => cases.find(({ name }) => name === `${dialect}/${kind}`)?.about.expect;
    expect(of("stream")).toEqual(of("plain"));
  }
});
