// The ways whose answers are not streamed and are rendered in OpenAI's format, on wires of the dialect's own. Pure.

import { valuesOf } from "#server/upstream/call/body.ts";
import { type Call, NOTHING, type Plan, type Prepared, type Way } from "#server/upstream/call/call.ts";
import type { Encoded } from "#server/upstream/dialects/dialect.ts";
import {
  embeddingList,
  embeddingRequest,
  imageList,
  imageRequest,
  rerankList,
  rerankRequest,
  SpeechHandler,
  speechRequest,
  WholeHandler,
  type WholeOptions,
} from "#server/upstream/handlers/whole.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** `read` = decodes the upstream's reply. */
function prepared(
  { dialect, quirks, secrets }: Plan,
  encoded: Encoded,
  dropped: readonly string[],
  read: WholeOptions["read"],
): Prepared {
  return { ...written(encoded, dropped), handler: new WholeHandler({ dialect, quirks, secrets, read }) };
}

/** A prepared call without its response handler. */
function written(encoded: Encoded, dropped: readonly string[]): Omit<Prepared, "handler"> {
  return {
    kind: "prepared",
    bytes: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? NOTHING,
    dropped: [...dropped, ...(encoded.dropped ?? NOTHING)],
  };
}

/** The dialect's own encoding, which the plan found to exist. */
function known<T>(wire: T | undefined): T {
  if (wire === undefined) throw new Error("planned without a wire for it");
  return wire;
}

export const embeddingsWay: Way = {
  name: "embeddings",
  prepare: (_tools, call, plan) => embedded(call, plan),
};

/** The fields of OpenAI's body that every wire understands (vendors/openai-embeddings). */
const EMBEDDING_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "dimensions",
  "user",
  "encoding_format",
]);

function embedded(call: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const embeddings = known(plan.dialect.embeddings);
  const values = valuesOf(call.body);
  const own = (embeddings.hints ?? []).flatMap((name) => (name in values ? [[name, values[name]]] : []));
  const hints: JsonRecord = { ...Object.fromEntries(own), ...call.hints };
  const request = { ...embeddingRequest(values, call.model), hints };
  const named = Object.keys({ ...values, ...call.hints });
  const left = named.filter(
    (name) => !EMBEDDING_FIELDS.has(name) && embeddings.hints?.includes(name) !== true,
  );
  return prepared(plan, embeddings.encode(request, { wire, target }), left, (reply) => {
    const found = embeddings.decode(reply);
    if (found.kind === "error") return found;
    if (found.vectors.length === 0) return undefined;
    const isBase64 = values["encoding_format"] === "base64";
    const body = embeddingList(found, call.originModel, isBase64);
    return { kind: "told", body, usage: found.usage };
  });
}

export const imagesWay: Way = {
  name: "images",
  prepare: ({ now }, call, plan) => drawn(now, call, plan),
  mayBeTask: true,
};

function drawn(now: () => number, { body, model, seed }: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const images = known(plan.dialect.images);
  const asked = imageRequest(valuesOf(body), model, images.formats);
  const encoded = images.encode(asked.request, { wire, target });
  return prepared(plan, encoded, asked.dropped, (reply) => {
    const found = images.decode(reply, { wire, model, seed });
    if (found.kind === "error") return found;
    if (found.kind === "pending") {
      const next = images.taskAddress?.(found.task, target);
      return next === undefined ? undefined : { kind: "told", body: {}, usage: undefined, next };
    }
    if (found.images.length === 0) return undefined;
    return { kind: "told", body: imageList(found, Math.trunc(now() / 1000)), usage: found.usage };
  });
}

export const rerankWay: Way = {
  name: "rerank",
  prepare: (_tools, call, plan) => ranked(call, plan),
};

function ranked({ body, model, originModel, seed }: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const rerank = known(plan.dialect.rerank);
  const { request, dropped } = rerankRequest(valuesOf(body), model);
  return prepared(plan, rerank.encode(request, { wire, target }), dropped, (reply) => {
    const found = rerank.decode(reply, { wire, model, seed });
    if (found.kind === "error") return found;
    return { kind: "told", body: rerankList(found, request, originModel), usage: found.usage };
  });
}

export const speechWay: Way = {
  name: "speech",
  prepare: (_tools, call, plan) => spoken(call, plan),
};

function spoken({ body, model, seed }: Call, plan: Plan): Prepared {
  const { wire, target, dialect, quirks, secrets } = plan;
  const speech = known(dialect.speech);
  const { request, dropped } = speechRequest(valuesOf(body), model);
  const encoded = speech.encode(request, { wire, target });
  const read = (reply: JsonRecord) => speech.decode(reply, { wire, model, seed });
  const handler = new SpeechHandler({ dialect, quirks, secrets, read, format: request.format });
  return { ...written(encoded, dropped), handler };
}
