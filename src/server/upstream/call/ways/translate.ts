// A format that the wire does not have is translated through the hub: parsed in the client's format, encoded in the upstream's.

import { encodeBody, lostFields, valuesOf, wantsUsage } from "#server/upstream/call/body.ts";
import {
  type Call,
  isGeneration,
  NOTHING,
  type Outcome,
  type Plan,
  type Prepared,
  type PrepareTools,
  type Way,
} from "#server/upstream/call/call.ts";
import { inlineMedia } from "#server/upstream/call/media.ts";
import type { RenderContext } from "#server/upstream/clients/client.ts";
import { clients } from "#server/upstream/clients/index.ts";
import type { ResponseHandler } from "#server/upstream/handlers/handler.ts";
import { TranslatingHandler } from "#server/upstream/handlers/translate.ts";
import { type Effort, type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { wholeObject } from "#server/upstream/json/object.ts";

export const translateWay: Way = {
  name: "translate",
  asks: "chat",
  address: ({ wire, dialect, target }) => dialect.address("chat", wire, target),
  prepare: translated,
};

export function parsed({ endpoint, body, model, isStream }: Call): HubRequest {
  const client = isGeneration(endpoint) ? clients[endpoint] : undefined;
  if (client === undefined) throw new Unmappable(endpoint, "该渠道不支持此接口");
  return client.parse(valuesOf(body), { model, isStream });
}

function translated(tools: PrepareTools, call: Call, plan: Plan): Prepared | Promise<Outcome> {
  const request = inPlaceOfChat(withEffort(parsed(call), plan.effort), plan);
  const inlines = plan.dialect.inlinesMedia === true || plan.quirks?.inlinesMedia === true;
  const opens = plan.quirks?.inlinesMedia === true ? isNoWebAddress : plan.dialect.opens;
  if (!inlines || !hasAddresses(request, opens)) return encoded(tools, call, plan, request);
  return inlineMedia({ send: tools.egress.send, route: plan.route }, request, opens).then((inlined) =>
    encoded(tools, call, plan, inlined),
  );
}

/** The request with the effort that the model's name gives. */
function withEffort(request: HubRequest, effort: Effort | undefined): HubRequest {
  if (effort === undefined) return request;
  return {
    ...request,
    reasoning: { effort, budgetTokens: undefined, isShown: request.reasoning?.isShown },
  };
}

/**
 * A request that is sent as Responses instead of Chat: a reasoning model refuses log probabilities, and a reasoning summary, which Chat
 * does not show either, is refused to unverified organizations. Source: decision 032.
 */
function inPlaceOfChat(request: HubRequest, { beside }: Plan): HubRequest {
  if (beside !== "responses") return request;
  const { reasoning, logprobs, dropped = NOTHING } = request;
  return {
    ...request,
    ...(reasoning !== undefined && { reasoning: { ...reasoning, isShown: false } }),
    ...(logprobs !== undefined && { logprobs: undefined, dropped: [...dropped, "logprobs"] }),
  };
}

/** Upstreams have addresses of their own, e.g. of uploaded files. */
export function isNoWebAddress(url: string): boolean {
  return !/^https?:/i.test(url);
}

export function hasAddresses(
  { messages }: HubRequest,
  opens: (url: string) => boolean = () => false,
): boolean {
  return messages.some(({ parts }) =>
    parts.some((part) => "source" in part && part.source.kind === "url" && !opens(part.source.url)),
  );
}

function encoded(tools: PrepareTools, call: Call, plan: Plan, request: HubRequest): Prepared {
  const { wire, target } = plan;
  const {
    body,
    headers = NOTHING,
    dropped = NOTHING,
    toolNames,
  } = plan.dialect.encode(request, { wire, target, passHeaders: call.passHeaders });
  const { bytes, lost } = edited(Buffer.from(JSON.stringify(body)), plan);
  return {
    kind: "prepared",
    bytes,
    headers,
    dropped: [...(request.dropped ?? NOTHING), ...dropped, ...lost],
    handler: handlerOf(tools, call, plan, { request, toolNames }),
  };
}

/** OpenAI's formats: the edits of a row use their field names. */
const OPENAI_FORMATS: ReadonlySet<string | undefined> = new Set(["chat", "responses"]);

/** A body encoded here in OpenAI's format gets the row's edits like a client's body. */
function edited(
  bytes: Buffer,
  { dialect, edits, quirks, takesStreamOptions, target }: Plan,
): { readonly bytes: Uint8Array; readonly lost: readonly string[] } {
  if (!OPENAI_FORMATS.has(dialect.native)) return { bytes, lost: NOTHING };
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("JSON.stringify did not make an object");
  const body = { bytes, object, model: target.model };
  const order = {
    model: target.model,
    asksUsage: false,
    dropsStreamOptions: !takesStreamOptions,
    edits,
    toolIdLength: quirks?.toolIdLength,
  };
  return { bytes: encodeBody(body, order), lost: edits === undefined ? NOTHING : lostFields(body, edits) };
}

export function handlerOf(
  { now }: PrepareTools,
  call: Call,
  { dialect, wire, secrets }: Plan,
  { request, toolNames }: { request: HubRequest; toolNames: ReadonlyMap<string, string> | undefined },
): ResponseHandler {
  const { endpoint, body, model, seed } = call;
  const client = isGeneration(endpoint) ? clients[endpoint] : undefined;
  if (client === undefined) throw new Unmappable(endpoint, "该渠道不支持此接口");
  const render: RenderContext = {
    model: call.originModel,
    seed,
    created: Math.trunc(now() / 1000),
    wantsUsage: wantsUsage(body),
    isArray: call.isArray,
    request,
    body: valuesOf(body),
  };
  return new TranslatingHandler({
    dialect,
    client,
    decode: { wire, model, seed },
    render,
    toolNames,
    secrets,
  });
}
