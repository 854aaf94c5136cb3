// The channel test (requirements W9.6, T21.5): one tiny request through the very same code as every relayed call. Costs the operator,
// never a user; changes no status.
import type { EndpointName } from "#contract/providers.ts";
import type { Tools } from "#server/tools.ts";
import { type AttemptTools, attempt, DEFAULT_LIMITS } from "#server/upstream/call/attempt.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import type { Result } from "#server/upstream/call/call.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { parseObject } from "#server/upstream/handlers/classify.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { asList, asObject, asText } from "#server/upstream/json/values.ts";
import { withKey } from "./candidates.ts";
import { isDisabling } from "./health.ts";
import type { LiveChannel } from "./live-channel.ts";

export type Probe =
  | {
      readonly ok: true;
      readonly ms: number;
      readonly model: string;
      /** What the model said, or the begin of it; "" = no text. */
      readonly text: string;
    }
  | {
      readonly ok: false;
      readonly ms: number;
      readonly model: string;
      readonly message: string;
      /** The channel's key or account no longer works (requirements W9.5). */
      readonly isDisabling: boolean;
      /** An outbound proxy failed, which says nothing about the key or the channel. */
      readonly isProxy: boolean;
    };

/** No request left. */
export const UNASKED = { isDisabling: false, isProxy: false } as const;

const TIMEOUT_MS = 30_000;
const MOST_CHARACTERS = 400;
const RERANK_MODEL = /rerank/i;
const EMBEDDING_MODEL = /embed|bge|m3e/i;

/** Tests a channel with a model; "" = its first. A failure is a short sentence for admins, without the upstream's body. */
export async function testChannel(
  ctx: Pick<Tools, "egress" | "credentials" | "clock" | "options">,
  channel: LiveChannel,
  model = "",
): Promise<Probe> {
  const requested = model || ([...channel.models][0] ?? "");
  if (requested === "") return { ok: false, ms: 0, model, message: "该渠道没有配置模型", ...UNASKED };
  const startedMs = ctx.clock.now();
  const result = await probe(ctx, channel, requested);
  const ms = Math.max(1, ctx.clock.now() - startedMs);
  if (result.kind !== "fault") return { ok: true, ms, model: requested, text: saidIn(result) };
  const blamed = { isDisabling: isDisabling(result), isProxy: result.blame === "proxy" };
  return { ok: false, ms, model: requested, message: describe(result), ...blamed };
}

function probe(
  { egress, credentials, clock, options }: Pick<Tools, "egress" | "credentials" | "clock" | "options">,
  channel: LiveChannel,
  requested: string,
): Promise<Result> {
  const model = channel.mapping.get(requested) ?? requested;
  const target = withKey(channel);
  const { endpoint, body } = questionFor(model);
  const tools: AttemptTools = {
    egress,
    credentials,
    now: clock.now,
    optionText: (name) => options.get(name),
    limits: { ...DEFAULT_LIMITS, idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS },
  };
  return attempt(tools, {
    target,
    endpoint,
    body: bodyOf(body),
    model,
    originModel: requested,
    isStream: false,
    isArray: false,
    apiVersion: "",
    passHeaders: [],
    seed: "probe",
    cancellation: new Cancellation(),
    trace: { firstByteMs: 0, isSent: false },
  });
}

/** The answer of a chat, in the family's format; reasoning and usage are left out. */
function saidIn(result: Exclude<Result, RelayFault>): string {
  if (result.kind !== "whole") return "";
  const [choice] = asList(parseObject(result.body)?.["choices"]);
  return (asText(asObject(asObject(choice)?.["message"])?.["content"]) ?? "").slice(0, MOST_CHARACTERS);
}

interface Question {
  readonly model: string;
}

/** The smallest request for a model of its kind. */
function questionFor(model: string): { readonly endpoint: EndpointName; readonly body: Question } {
  if (RERANK_MODEL.test(model)) {
    const body = { model, query: "hello", documents: ["hello world"] };
    return { endpoint: "rerank", body };
  }
  if (EMBEDDING_MODEL.test(model)) {
    const body = { model, input: ["hello world"] };
    return { endpoint: "embeddings", body };
  }
  return { endpoint: "chat", body: chatBody(model) };
}

/** Reasoning models need room to think even for one word. */
function chatBody(model: string) {
  const maxTokens = /^(o\d|gpt-[56])/.test(model) ? 16 : 2;
  return { model, messages: [{ role: "user", content: "hi" }], max_tokens: maxTokens };
}

function bodyOf(values: Question): ClientBody {
  const bytes = Buffer.from(JSON.stringify(values));
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("JSON.stringify did not make an object");
  return { bytes, object, model: values.model };
}

/** Administrators see the redacted words of the upstream where there are any (requirements S07). */
function describe(fault: RelayFault): string {
  const more = fault.words || fault.detail;
  return more === "" ? fault.publicMessage : `${fault.publicMessage}（${more}）`.slice(0, MOST_CHARACTERS);
}
