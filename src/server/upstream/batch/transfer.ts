// Files on their way to an upstream and from it: piece by piece, as fast as the slower side. Says of a failure whether anything was sent.
import { Readable } from "node:stream";
import type { BodyWriter, Flow, ReplyHeaders } from "#server/egress/send.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import { type About, answerFault, outgoing } from "#server/upstream/call/outgoing.ts";
import { networkFault, type RelayFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { type TaskAnswer, type TaskCallTools, taskDraft } from "#server/upstream/video/call.ts";

/** Until the head of an answer, and between two pieces. Unit: ms. */
const WAIT_MS = 120_000;
/** Of an answer that is no file. */
const MOST_ANSWER = 256 * 1024;

/** The body of an answer that broke off. */
export class BrokenFile extends Error {
  readonly fault: RelayFault;

  constructor(fault: RelayFault) {
    super(fault.detail);
    this.fault = fault;
  }
}

/** A file that is being read. Who does not read it to its end destroys it. */
export interface OpenFile {
  readonly kind: "open";
  readonly headers: ReplyHeaders;
  /** Throws, while it is read: BrokenFile. */
  readonly bytes: Readable;
}

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly about: About;
  readonly contentType?: string;
  readonly writes?: (writer: BodyWriter) => void;
}

/** Begins to read a file. */
export async function openFile(
  tools: TaskCallTools,
  target: UpstreamTarget,
  path: string,
  about: About,
): Promise<OpenFile | RelayFault> {
  const begun = await begin(tools, target, { method: "GET", path, about });
  if ("kind" in begun) return begun;
  const { status, headers, bytes } = await begun.head;
  if (status >= 200 && status < 300) return { kind: "open", headers, bytes };
  return faultOf(begun, status, bytes);
}

/** A file that is being sent. */
export interface Upload {
  /** Sends a piece, when there is room. False = the upstream has answered, or is gone: the rest is not wanted. */
  write(piece: Uint8Array): Promise<boolean>;
  /** It is complete. */
  end(): void;
  /** It is not wanted after all. */
  abort(): void;
  readonly answer: Promise<TaskAnswer>;
}

/** Begins to send a file, when its connection stands: without one nothing of it is read, and another channel can have it. */
export async function startUpload(
  tools: TaskCallTools,
  target: UpstreamTarget,
  { path, contentType, about }: Pick<Call, "path" | "about"> & { readonly contentType: string },
): Promise<Upload | RelayFault> {
  const opened = Promise.withResolvers<BodyWriter>();
  const over = Promise.withResolvers<false>();
  const begun = await begin(tools, target, {
    method: "POST",
    path,
    contentType,
    about,
    writes: opened.resolve,
  });
  if ("kind" in begun) return begun;
  const answer = answerOf(begun).finally(() => over.resolve(false));
  const writer = await Promise.race([opened.promise, over.promise]);
  if (writer === false) {
    const early = await answer;
    return early.kind === "failed" ? early.fault : unreadableFault("an answer before the file", 200);
  }
  return {
    answer,
    async write(piece) {
      if (begun.isOver()) return false;
      if (writer.write(piece)) return !begun.isOver();
      const drained = new Promise<true>((resolve) => writer.onDrain(() => resolve(true)));
      return Promise.race([drained, over.promise]);
    },
    end: () => writer.end(),
    abort: () => begun.flow.abort(),
  };
}

async function answerOf(begun: Begun): Promise<TaskAnswer> {
  try {
    const { status, bytes } = await begun.head;
    const body = await wholeOf(bytes);
    const object = asObject(body);
    if (status >= 200 && status < 300 && object !== undefined) return { kind: "answer", body: object };
    const fault = status >= 400 ? statusOf(begun, status, body) : unreadableFault("no JSON object", status);
    return { kind: "failed", fault, isUnsure: status >= 500 || status < 400 };
  } catch (error) {
    if (error instanceof BrokenFile)
      return { kind: "failed", fault: error.fault, isUnsure: begun.flow.isSent };
    throw error;
  }
}

interface Begun {
  readonly flow: Flow;
  readonly target: UpstreamTarget;
  readonly secrets: readonly string[];
  /** Throws: BrokenFile. */
  readonly head: Promise<{
    readonly status: number;
    readonly headers: ReplyHeaders;
    readonly bytes: Readable;
  }>;
  isOver(): boolean;
}

async function begin(
  tools: TaskCallTools,
  target: UpstreamTarget,
  { method, path, contentType, about, writes }: Call,
): Promise<Begun | RelayFault> {
  const typed = contentType === undefined ? [] : ["content-type", contentType];
  const draft = taskDraft(target, { method, path, headers: typed }, ["accept", "*/*"]);
  const ready = await outgoing(tools, target, draft, about);
  if (ready.kind === "fault") return ready;
  const { headers } = ready;
  const url = new URL(ready.url);
  const head = Promise.withResolvers<Awaited<Begun["head"]>>();
  let isOver = false;
  const bytes = new Readable({ read: () => flow.resume(), destroy: destroyed });
  function destroyed(error: Error | null, done: (error: Error | null) => void) {
    if (!isOver) flow.abort();
    done(error);
  }
  const flow = tools.egress.send(
    {
      method,
      origin: url.origin,
      path: url.pathname + url.search,
      headers,
      body: undefined,
      headersTimeoutMs: WAIT_MS,
      idleTimeoutMs: WAIT_MS,
      route: target.route,
      ...(writes !== undefined && { writes }),
    },
    {
      onStart: (status, headers) => head.resolve({ status, headers, bytes }),
      onData(chunk) {
        if (!bytes.push(chunk)) flow.pause();
      },
      onEnd() {
        isOver = true;
        bytes.push(null);
      },
      onFault(fault) {
        isOver = true;
        const broken = new BrokenFile(networkFault(fault));
        head.reject(broken);
        // Its reader is told; where there is none, the error is dropped.
        bytes.on("error", () => undefined).destroy(broken);
      },
    },
  );
  head.promise.catch(() => undefined);
  const secrets = [...ready.secrets, url.host];
  return { flow, target, secrets, head: head.promise, isOver: () => isOver };
}

async function wholeOf(bytes: Readable): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_ANSWER) break;
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return undefined;
  }
}

async function faultOf(begun: Begun, status: number, bytes: Readable): Promise<RelayFault> {
  try {
    return statusOf(begun, status, await wholeOf(bytes));
  } catch (error) {
    if (error instanceof BrokenFile) return error.fault;
    throw error;
  }
}

function statusOf({ target, secrets }: Begun, status: number, body: unknown): RelayFault {
  return status < 400
    ? unreadableFault("a redirect", status)
    : answerFault(target, { status, body, text: "", retryAfterMs: 0, secrets });
}
