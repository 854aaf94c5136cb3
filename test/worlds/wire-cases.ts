// Recorded cases of the wires, and the very code that calls an upstream before an answer that is played back: what the tests of dialects
// and of the matrix of formats share.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type EndpointName, type Provider, providerOf } from "#contract/providers.ts";
import type { EgressRequest, Sink } from "#server/egress/send.ts";
import { attempt } from "#server/upstream/call/attempt.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { createTokenCache } from "#server/upstream/signers/token-cache.ts";

export interface Case {
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

export interface Fixture {
  /** `dialect/case`. */
  readonly name: string;
  readonly about: Case;
  readonly request: Buffer;
  readonly wire: { url: string; headers: Record<string, string>; body: string };
  readonly reply: Buffer;
  readonly clientReply: Buffer;
}

const FOLDER = join(import.meta.dirname, "../..", "src", "server", "upstream", "dialects", "fixtures");
/** Fixture replies say what time it is; requests that are signed with the time say this one. */
const NOW_MS = 1_760_000_000_000;

/** Every recorded case. */
export function loadFixtures(): Fixture[] {
  return globSync("*/*/case.json", { cwd: FOLDER }).sort().map(load);
}

function load(path: string): Fixture {
  const folder = dirname(join(FOLDER, path));
  const read = (name: string) => readFileSync(join(folder, name));
  const find = (name: string) =>
    ["sse", "jsonl", "json", "hex"].find((suffix) => existsSync(join(folder, `${name}.${suffix}`)));
  const playable = (name: string) => {
    const suffix = find(name);
    if (suffix === undefined) return undefined;
    const bytes = read(`${name}.${suffix}`);
    // Binary replies are kept as hexadecimal text.
    return suffix === "hex" ? Buffer.from(bytes.toString().replace(/\s/g, ""), "hex") : bytes;
  };
  const reply = playable("wire-reply") ?? Buffer.alloc(0);
  // The folders hold what mkdir and an editor put there: the forms of Case and Fixture.
  const about = JSON.parse(read("case.json").toString()) as Case;
  const wire = JSON.parse(read("wire-request.json").toString()) as Fixture["wire"];
  const request = read("client-request.json");
  return { name: dirname(path), about, request, wire, reply, clientReply: playable("client-reply") ?? reply };
}

/** A client's JSON body as the relay reads it. */
export function clientBody(bytes: Buffer): ClientBody {
  const object = wholeObject(bytes);
  const values = asObject(JSON.parse(bytes.toString()));
  if (object === undefined || values === undefined) throw new Error("the client's request is no object");
  return { bytes, object, model: values["model"] };
}

export interface Run {
  /** undefined = nothing was sent. */
  readonly sent: EgressRequest | undefined;
  readonly result: WholeReply | StreamReply | RelayFault;
  /** What the client gets; without the last bytes where the stream broke. */
  readonly bytes: Buffer;
  readonly text: string;
  /** What broke the stream. */
  readonly broken?: RelayFault | undefined;
}

/** A request, and the answer it gets. */
export interface Play {
  readonly channel: {
    readonly provider: Provider;
    readonly key: string;
    readonly baseUrl: string;
    readonly other: string;
  };
  readonly endpoint: EndpointName;
  readonly body: ClientBody;
  readonly model: string;
  readonly originModel?: string;
  readonly isStream: boolean;
  readonly status: number;
  readonly contentType: string;
  readonly reply: Buffer;
  /** Where the answer is cut into pieces. */
  readonly cuts?: readonly number[];
  /** Absent = a stream that breaks is a failure of the test. */
  readonly mayBreak?: true;
}

/** The small calls that exchange a key for a token. */
const EXCHANGE = /oauth|\/token/;
const EXCHANGED = Buffer.from('{"access_token":"fixture-token","expires_in":2592000}');

/** Calls an upstream that answers as told. */
export async function play(scene: Play): Promise<Run> {
  const { reply, cuts = [] } = scene;
  let sent: EgressRequest | undefined;
  const send = (order: EgressRequest, sink: Sink) => {
    const isExchange = EXCHANGE.test(order.path);
    if (!isExchange) sent = order;
    queueMicrotask(() => {
      const type = isExchange ? "application/json" : scene.contentType;
      sink.onStart(isExchange ? 200 : scene.status, { "content-type": type });
      if (isExchange) sink.onData(EXCHANGED);
      const borders = isExchange ? [] : [0, ...cuts, reply.length];
      for (const [index, from] of borders.slice(0, -1).entries())
        sink.onData(reply.subarray(from, borders[index + 1]));
      sink.onEnd();
    });
    return { isSent: true, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  };
  const { channel, endpoint, body, model, originModel = model, isStream } = scene;
  const now = () => NOW_MS;
  const result = await attempt(
    {
      egress: { send },
      credentials: createTokenCache({ egress: { send }, now }),
      now,
      optionText: () => "",
      limits: { firstByteMs: 0, idleMs: 0, totalMs: 0, streamMs: 0 },
    },
    {
      target: channel,
      endpoint,
      body,
      model,
      originModel,
      isStream,
      isArray: false,
      apiVersion: "",
      passHeaders: [],
      seed: "seed0000",
      cancellation: new Cancellation(),
      trace: { firstByteMs: 0, isSent: false },
    },
  );
  const run = { sent, result, ...(await collect(result)) };
  if (run.broken !== undefined && scene.mayBreak !== true)
    throw new Error(`the stream broke: ${JSON.stringify(run.broken)}`);
  return run;
}

/** Plays a recorded case. */
export function playFixture(
  { about, request, reply }: Pick<Fixture, "about" | "request" | "reply">,
  more: Pick<Play, "cuts" | "mayBreak"> = {},
): Promise<Run> {
  const provider = providerOf(about.channel.type);
  if (provider === undefined) throw new Error(`no provider ${about.channel.type}`);
  const { key, base_url: baseUrl, other } = about.channel;
  const { endpoint, model, originModel = model, stream: isStream, status, contentType } = about;
  const channel = { provider, key, baseUrl, other };
  const body = clientBody(request);
  const scene = { channel, endpoint, body, model, originModel, isStream, status, contentType, reply };
  return play({ ...scene, ...more });
}

async function collect(result: Run["result"]): Promise<Pick<Run, "bytes" | "text" | "broken">> {
  if (result.kind === "fault") return { bytes: Buffer.alloc(0), text: "" };
  if (result.kind === "whole") return { bytes: result.body, text: result.text() };
  const pieces: Uint8Array[] = [];
  const broken = await new Promise<RelayFault | undefined>((resolve) => {
    result.listen({ onBytes: (bytes) => pieces.push(Uint8Array.from(bytes)), onEnd: resolve });
  });
  const tail = broken === undefined ? [result.tail()] : [];
  return { bytes: Buffer.concat([...pieces, ...tail]), text: result.text(), broken };
}
