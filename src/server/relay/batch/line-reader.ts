// Reads the lines of a file of requests while they pass: what they ask for, what they may cost, and how its channel has them sent. A line
// that cannot be charged or sent refuses the file, and the refusal names the line (requirements C75).
import { isUtf8 } from "node:buffer";
import type { TextEndpoint } from "#contract/providers.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { estimatePrompt, expectedOutput, raisedBy } from "#server/relay/billing/pricing-text.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Services } from "#server/relay/services.ts";
import { hasTwins, type IncomingRequest, readIncoming } from "#server/relay/text/incoming.ts";
import type { FilePart } from "#server/store/batch-files.ts";
import { LINES_OF_PART, type LineFacts } from "#server/tasks/batch/facts.ts";
import { customIdHash } from "#server/tasks/batch/results.ts";
import type { Line } from "#server/upstream/batch/line-splitter.ts";
import { prepareRuled } from "#server/upstream/call/attempt.ts";
import type { Call } from "#server/upstream/call/call.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { editObject, findMember, readMember, wholeObject } from "#server/upstream/json/object.ts";

/** Source: vendors/batch-openai. */
export const MOST_LINES = 50_000;
const MOST_CUSTOM_ID = 512;
/** Each has a price of its own in the row of a batch. */
const MOST_MODELS = 50;
const ENDPOINTS: ReadonlyMap<string, TextEndpoint> = new Map([
  ["/chat/completions", "chat"],
  ["/completions", "completions"],
  ["/embeddings", "embeddings"],
  ["/responses", "responses"],
]);
/** Ways by which the bytes stay in OpenAI's form, which is the form of a line. */
const WAYS: ReadonlySet<string> = new Set(["pass", "native"]);

/** The path of an endpoint as we store it: Azure's clients leave the version out. */
export function plainEndpoint(url: string): string {
  return url.startsWith("/v1/") ? url.slice(3) : url;
}

/** A line as its client wrote it. */
export interface RequestLine {
  readonly line: Line;
  readonly customId: string;
  readonly url: string;
  readonly incoming: IncomingRequest;
  readonly object: NonNullable<ReturnType<typeof wholeObject>>;
}

/** Reads a line. Throws: LocalError that names it. */
export function readLine(line: Line): RequestLine {
  const { bytes, number } = line;
  const object = isUtf8(bytes) ? wholeObject(bytes) : undefined;
  if (object === undefined) throw invalid(number, "不是合法的 JSON 对象");
  if (hasTwins(object)) throw invalid(number, "存在重复的字段");
  const customId = readMember(bytes, object, "custom_id");
  if (typeof customId !== "string" || customId === "" || customId.length > MOST_CUSTOM_ID)
    throw invalid(number, `custom_id 须为 1 到 ${MOST_CUSTOM_ID} 个字符`);
  if (readMember(bytes, object, "method") !== "POST") throw invalid(number, "method 须为 POST");
  const url = readMember(bytes, object, "url");
  const endpoint = typeof url === "string" ? ENDPOINTS.get(plainEndpoint(url)) : undefined;
  if (typeof url !== "string" || endpoint === undefined)
    throw invalid(number, "url 须为 /v1/chat/completions、/v1/completions、/v1/embeddings 或 /v1/responses");
  const body = findMember(object, "body");
  if (body === undefined) throw invalid(number, "缺少 body");
  const incoming = named(number, () =>
    readIncoming({ ...NOTHING_SAID, endpoint }, bytes.subarray(body.valueStart, body.valueEnd)),
  );
  if (incoming.isStream) throw invalid(number, "批处理不支持流式输出");
  return { line, customId, url, incoming, object };
}

const NOTHING_SAID = { pathModel: undefined, wantsEvents: false, apiVersion: "", passHeaders: [] } as const;

function invalid(line: number, what: string): LocalError {
  return new LocalError(localErrors.lineInvalid(line, what));
}

/** Adds to a refusal which line it is of. */
function named<Done>(line: number, act: () => Done): Done {
  try {
    return act();
  } catch (error) {
    if (error instanceof LocalError) throw new LocalError(inLine(line, error.fault));
    throw error;
  }
}

function inLine(line: number, fault: RelayFault): RelayFault {
  return { ...fault, publicMessage: `第 ${line} 行：${fault.publicMessage}`, retry: false };
}

export interface LinesParts {
  readonly services: Services;
  readonly caller: Caller;
  readonly channel: LiveChannel;
  readonly requestId: string;
}

/** The lines of one file for one channel. */
export class LinesForChannel {
  readonly #parts: LinesParts;
  /** Hash of a custom_id → its line. */
  readonly #ids = new Map<string, number>();
  /** The part of each model that is being filled, and all there are. */
  readonly #open = new Map<string, LineFacts[]>();
  readonly #filled: { readonly model: string; readonly lines: LineFacts[] }[] = [];
  #url = "";

  constructor(parts: LinesParts) {
    this.#parts = parts;
  }

  /** What its lines ask for. */
  get endpoint(): string {
    return plainEndpoint(this.#url);
  }

  /** Counts a line. Returns it as it is sent. Throws: LocalError that names it. */
  async take(asked: RequestLine): Promise<Buffer> {
    const { line, customId, url, object } = asked;
    const { number } = line;
    if (this.#ids.size >= MOST_LINES) throw invalid(number, `超过 ${MOST_LINES} 行`);
    if (this.#url === "") this.#url = url;
    else if (url !== this.#url) throw invalid(number, `url 与前面的 ${this.#url} 不同`);
    const { services, channel } = this.#parts;
    const id = customIdHash(services.ctx.secrets, customId);
    const before = this.#ids.get(id);
    if (before !== undefined) throw invalid(number, `custom_id 与第 ${before} 行重复`);
    this.#ids.set(id, number);
    const incoming = raisedBy([channel], asked.incoming);
    this.#add(number, incoming.model, [id, estimatePrompt(incoming), expectedOutput(incoming)]);
    const body = await this.#sent(number, incoming);
    const isSame = Buffer.compare(body, asked.incoming.body.bytes) === 0;
    return isSame
      ? line.bytes
      : editObject(line.bytes, object, { set: new Map([["body", body.toString()]]) });
  }

  /** What was counted, in parts of lines of one model. */
  parts(): FilePart[] {
    return this.#filled.map(({ model, lines }, part) => ({
      part,
      model,
      lines: lines.length,
      facts: JSON.stringify(lines),
    }));
  }

  #add(number: number, model: string, facts: LineFacts): void {
    const open = this.#open.get(model);
    if (open === undefined) this.#admit(number, model);
    if (open !== undefined && open.length < LINES_OF_PART) {
      open.push(facts);
      return;
    }
    const lines = [facts];
    this.#open.set(model, lines);
    this.#filled.push({ model, lines });
  }

  /** The first line of a model: it is the caller's, the channel's, and has a price. Throws: LocalError. */
  #admit(number: number, model: string): void {
    const { services, caller, channel } = this.#parts;
    const { candidates } = services.ctx;
    if (caller.models?.has(model) === false)
      throw new LocalError(inLine(number, localErrors.modelNotAllowed(model)));
    const isServed =
      caller.pin === undefined
        ? candidates.find(caller.group, model).some(({ id }) => id === channel.id)
        : channel.models.has(model) || channel.mapping.has(model);
    if (!isServed) throw invalid(number, `模型 ${model} 与前面的模型不能由同一渠道处理，请分成几个文件`);
    const price = services.bill.prices().find(model, channel.mapping.get(model) ?? model, caller.group);
    if (price === undefined) throw new LocalError(inLine(number, localErrors.priceMissing(model)));
    if (this.#open.size >= MOST_MODELS) throw invalid(number, `超过 ${MOST_MODELS} 个模型`);
  }

  /** The body as the channel has it sent. Throws: LocalError that names the line. */
  async #sent(number: number, incoming: IncomingRequest): Promise<Buffer> {
    const { services, channel, caller, requestId } = this.#parts;
    const { ctx, upstream } = services;
    const { model } = incoming;
    const mapped = channel.mapping.get(model) ?? model;
    const key = { endpoint: incoming.endpoint, model: mapped, isStream: false, apiVersion: "" };
    const plan = planCall(channel, key, upstream.optionText);
    if (plan.kind === "fault") throw new LocalError(inLine(number, plan));
    if (!WAYS.has(plan.way.name)) throw new LocalError(inLine(number, localErrors.batchUnserved(model)));
    const call: Call = {
      ...incoming,
      ...key,
      target: channel,
      model: plan.target.model,
      originModel: model,
      seed: requestId,
      // The headers of an upload are none of a line's.
      facts: {
        header: () => undefined,
        attempt: 1,
        userId: caller.userId,
        maxTokens: incoming.maxTokens || incoming.raisedTokens,
        nowMs: ctx.clock.now(),
      },
      cancellation: new Cancellation(),
      trace: { firstByteMs: 0, isSent: false },
    };
    const outcome = await prepareRuled(upstream, call, plan);
    if (outcome.kind === "fault") throw new LocalError(inLine(number, outcome));
    return Buffer.from(outcome.bytes.buffer, outcome.bytes.byteOffset, outcome.bytes.byteLength);
  }
}
