// The handler of an answer in another format than the client's: a dialect decodes it into hub chunks, the client format renders them.
// It works event by event and collects no more than it needs.
import type { Quirks } from "#contract/providers.ts";
import type { ClientDialect, RenderContext, StreamRenderer } from "#server/upstream/clients/client.ts";
import type {
  DecodeContext,
  Dialect,
  StreamDecoder,
  WireError,
  WireEvent,
} from "#server/upstream/dialects/dialect.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { namedOverflow } from "#server/upstream/errors/overflow.ts";
import { foldReply, type HubChunk, type HubReply, ReplyFold } from "#server/upstream/hub/reply.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { dataText, fieldOf, type SseEvent, SseReader } from "#server/upstream/hub/sse.ts";
import { asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { countEvent, errorAtFirst, parseObject } from "./classify.ts";
import { AwsReader, LineReader } from "./frames.ts";
import type {
  EventAction,
  EventReader,
  ReplyOutput,
  ResponseHandler,
  StreamObserver,
  Whole,
} from "./handler.ts";

interface Translation {
  readonly dialect: Dialect;
  readonly client: ClientDialect;
  readonly decode: DecodeContext;
  readonly render: RenderContext;
  /** Tools renamed for the wire → the client's names. */
  readonly toolNames: ReadonlyMap<string, string> | undefined;
  readonly secrets: readonly string[];
}

const STREAM_TYPES = {
  sse: ["text/event-stream"],
  lines: ["application/x-ndjson", "application/jsonl", "application/json", "text/event-stream"],
  aws: ["application/vnd.amazon.eventstream"],
} as const;

export class TranslatingHandler implements ResponseHandler {
  readonly #translation: Translation;

  constructor(translation: Translation) {
    this.#translation = translation;
  }

  get quirks(): Quirks | undefined {
    return this.#translation.decode.wire.quirks;
  }

  get onlyStreams(): boolean {
    return this.#translation.dialect.onlyStreams === true;
  }

  isStreamType(mediaType: string): boolean {
    const types: readonly string[] = STREAM_TYPES[this.#translation.dialect.frames ?? "sse"];
    return types.includes(mediaType);
  }

  reader(): EventReader {
    const { frames } = this.#translation.dialect;
    if (frames === "aws") return new AwsReader();
    return frames === "lines" ? new LineReader() : new SseReader();
  }

  observer(): StreamObserver {
    const { client, render } = this.#translation;
    return new TranslatingObserver(
      this.#translation,
      render.request.isStream ? client.renderer(render) : undefined,
    );
  }

  whole(body: Buffer): Whole | RelayFault {
    const chunks = this.#decode(body);
    if ("kind" in chunks) return chunks;
    const output = new TranslatedOutput();
    output.add(chunks);
    return wholeOf(this.#translation, foldReply(chunks), output);
  }

  wholeAsStream(body: Buffer): { observer: StreamObserver; bytes: Uint8Array } | RelayFault {
    const chunks = this.#decode(body);
    if ("kind" in chunks) return chunks;
    const { client, render } = this.#translation;
    const observer = new TranslatingObserver(this.#translation, client.renderer(render));
    return { observer, bytes: Buffer.from(observer.pass(chunks)) };
  }

  /** Only the wires of the client formats are checked here; the decoders of other wires read their own errors. */
  first(event: SseEvent): RelayFault | undefined {
    const { dialect, secrets } = this.#translation;
    const error = dialect.native && errorAtFirst(event, dialect.native);
    return error && this.fault({ ...error, secrets });
  }

  fault(error: UpstreamError): RelayFault {
    const body = asObject(error.body);
    const found = body && this.#translation.dialect.readError?.(error.status, body);
    return translatedFault(found ?? error, error.secrets, error.retryAfterMs);
  }

  #decode(body: Buffer): readonly HubChunk[] | RelayFault {
    const { dialect, decode, secrets } = this.#translation;
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const found = dialect.decode(reply, decode);
    if (isError(found)) return translatedFault(found, secrets);
    if (!found.some(({ kind }) => kind !== "head" && kind !== "end"))
      return unreadableFault("nothing in the answer", 200);
    const named = renamed(found, this.#translation.toolNames);
    return customTools(this.#translation.render.request)?.take([...named, { kind: "end" }]) ?? named;
  }
}

/** The fault of a decoded or unread error; a context overflow gets OpenAI's code, which every client format can render. */
function translatedFault(
  found: WireError | UpstreamError,
  secrets: readonly string[],
  headerMs = 0,
): RelayFault {
  return namedOverflow("kind" in found ? wireFault(found, secrets, headerMs) : statusFault(found));
}

function isError(found: readonly HubChunk[] | WireError): found is WireError {
  return "kind" in found;
}

function wholeOf({ client, render }: Translation, reply: HubReply, output: TranslatedOutput): Whole {
  const body = Buffer.from(JSON.stringify(client.render(reply, render)));
  return { kind: "body", body, usage: reply.usage, text: () => output.text() };
}

/** Restores the client's tool names. */
function renamed(
  chunks: readonly HubChunk[],
  names: ReadonlyMap<string, string> | undefined,
): readonly HubChunk[] {
  if (names === undefined || names.size === 0) return chunks;
  return chunks.map((chunk) =>
    chunk.kind === "tool" && chunk.name !== undefined
      ? { ...chunk, name: names.get(chunk.name) ?? chunk.name }
      : chunk,
  );
}

/** Counts and keeps the generated text of a translated answer. */
class TranslatedOutput implements ReplyOutput {
  textBytes = 0;
  textChars = 0;
  textPieces = 0;
  #pieces: string[] = [];

  add(chunks: readonly HubChunk[]): void {
    let hasOutput = false;
    for (const chunk of chunks) {
      const text = spoken(chunk);
      hasOutput ||= text !== "" || chunk.kind === "image" || chunk.kind === "audio";
      if (text === "") continue;
      this.textBytes += Buffer.byteLength(text);
      this.textChars += text.length;
      if (this.textBytes <= TEXT_LIMIT_BYTES) this.#pieces.push(text);
    }
    if (hasOutput) this.textPieces += 1;
  }

  text(): string {
    return this.#pieces.join("");
  }
}

/** Text beyond this is counted by its bytes only. */
const TEXT_LIMIT_BYTES = 1024 * 1024;

function spoken(chunk: HubChunk): string {
  switch (chunk.kind) {
    case "text":
    case "refusal":
    case "thought":
      return chunk.text;
    case "tool":
      return chunk.arguments;
    case "audio":
      return asText(chunk.value["transcript"]) ?? "";
    default:
      return "";
  }
}

const EMPTY = new Uint8Array(0);

class TranslatingObserver implements StreamObserver {
  readonly output = new TranslatedOutput();
  usage: JsonRecord | undefined;
  isFinished = false;
  events = 0;
  readonly #translation: Translation;
  readonly #decoder: StreamDecoder;
  /** undefined = the client wants the reply whole. */
  readonly #renderer: StreamRenderer | undefined;
  readonly #fold: ReplyFold | undefined;
  readonly #custom: CustomTools | undefined;
  /** Rendered text of the last event, sent with the tail. */
  #last = "";

  constructor(translation: Translation, renderer: StreamRenderer | undefined) {
    this.#translation = translation;
    this.#decoder = translation.dialect.decoder(translation.decode);
    this.#renderer = renderer;
    this.#fold = renderer === undefined ? new ReplyFold() : undefined;
    this.#custom = customTools(translation.render.request);
  }

  take(event: SseEvent): EventAction {
    const hasData = event.dataStart >= 0;
    // An event name is enough: Zhipu's final event may have its usage in another field, and no data (vendors/zhipu-v3).
    if (!hasData && fieldOf(event, "event") === "") return "drop";
    if (hasData) this.events = countEvent(this.events, event);
    const found = this.#decoder.take(wireEvent(event));
    if (isError(found)) return translatedFault(found, this.#translation.secrets);
    if (found.length === 0) return "drop";
    const named = renamed(found, this.#translation.toolNames);
    const text = this.pass(this.#custom?.take(named) ?? named);
    if (found.at(-1)?.kind === "end") {
      this.#last = text;
      return this.#saysNothing() ? unreadableFault("a stream without an answer", 200) : "done";
    }
    return text === "" ? "drop" : Buffer.from(text);
  }

  /** Takes hub chunks; returns them rendered for the client. */
  pass(chunks: readonly HubChunk[]): string {
    this.output.add(chunks);
    for (const chunk of chunks) {
      if (chunk.kind === "usage") this.usage = chunk.usage;
      else if (chunk.kind === "finish") this.isFinished = true;
    }
    this.#fold?.add(chunks);
    return this.#renderer?.take(chunks) ?? "";
  }

  tail(): Uint8Array {
    return this.#renderer === undefined ? EMPTY : Buffer.from(this.#last + this.#renderer.end());
  }

  whole(): Whole {
    return wholeOf(this.#translation, (this.#fold ?? new ReplyFold()).reply(), this.output);
  }

  /** Neither finish reason, nor usage, nor text: this was no reply. */
  #saysNothing(): boolean {
    return !this.isFinished && this.usage === undefined && this.output.textPieces === 0;
  }
}

function wireEvent(event: SseEvent): WireEvent {
  return { data: dataText(event), field: (name) => fieldOf(event, name) };
}

// Custom tools take plain text; most wires know functions only, so there they are functions with one text `input` (requirements T18.5).
// This converts calls of them back. Pure.

type ToolChunk = HubChunk & { readonly kind: "tool" };

class CustomTools {
  readonly #names: ReadonlySet<string>;
  /** Unfinished calls of custom tools: their text can be read only when it is complete. */
  readonly #calls = new Map<string, ToolChunk>();

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  take(chunks: readonly HubChunk[]): readonly HubChunk[] {
    if (!chunks.some((chunk) => chunk.kind === "finish" || chunk.kind === "end" || this.#isOurs(chunk)))
      return chunks;
    const out: HubChunk[] = [];
    for (const chunk of chunks) {
      if (this.#isOurs(chunk)) out.push(...this.#keep(chunk));
      else if (chunk.kind === "finish" || chunk.kind === "end") out.push(...this.#flush(), chunk);
      else out.push(chunk);
    }
    return out;
  }

  #isOurs(chunk: HubChunk): chunk is ToolChunk {
    if (chunk.kind !== "tool" || chunk.isCustom === true) return false;
    return (
      this.#calls.has(`${chunk.index} ${chunk.at}`) ||
      (chunk.name !== undefined && this.#names.has(chunk.name))
    );
  }

  /** The first chunk of a call is passed on at once, so that calls keep their order. */
  #keep(chunk: ToolChunk): ToolChunk[] {
    const key = `${chunk.index} ${chunk.at}`;
    const known = this.#calls.get(key);
    this.#calls.set(
      key,
      known === undefined ? chunk : { ...known, arguments: known.arguments + chunk.arguments },
    );
    return known === undefined ? [{ ...chunk, isCustom: true, arguments: "" }] : [];
  }

  #flush(): ToolChunk[] {
    const calls = [...this.#calls.values()].map(({ kind, index, at, arguments: text }): ToolChunk => {
      const input = readJson(text)?.["input"];
      return { kind, index, at, isCustom: true, arguments: typeof input === "string" ? input : text };
    });
    this.#calls.clear();
    return calls;
  }
}

/** Follows the calls of a request's custom tools; undefined = it has none. */
function customTools({ tools }: HubRequest): CustomTools | undefined {
  const names = tools?.flatMap((tool) => (tool.kind === "custom" ? [tool.name] : [])) ?? [];
  return names.length === 0 ? undefined : new CustomTools(new Set(names));
}
