// Makes the bytes of calls whose answers come whole and are told in OpenAI's words: vectors, pictures, an order of texts, speech. Their
// dialect says what goes out and reads what comes back. Pure.

import type { Encoded } from "#server/upstream/dialects/dialect.ts";
import { embeddingList, embeddingRequest } from "#server/upstream/handlers/embeddings.ts";
import { imageList, imageRequest } from "#server/upstream/handlers/images.ts";
import { rerankList, rerankRequest } from "#server/upstream/handlers/rerank.ts";
import { SpeechCourse, speechRequest } from "#server/upstream/handlers/speech.ts";
import { WholeCourse, type WholeOptions } from "#server/upstream/handlers/whole.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { valuesOf } from "./body.ts";
import type { Call, Prepared } from "./call.ts";
import type { Plan, Way } from "./plan.ts";

const NOTHING: readonly string[] = [];

/** Prepares a call. Throws: Unmappable. */
export function toldWhole(
  now: () => number,
  call: Call,
  plan: Plan,
  way: Extract<Way, "embed" | "draw" | "rank" | "speak">,
): Prepared {
  switch (way) {
    case "embed":
      return embedded(call, plan);
    case "draw":
      return drawn(now, call, plan);
    case "rank":
      return ranked(call, plan);
    case "speak":
      return spoken(call, plan);
    default:
      throw new Error(`unknown way ${way satisfies never}`);
  }
}

/** What of OpenAI's body every wire understands (providers 4.8). */
const READ: ReadonlySet<string> = new Set(["model", "input", "dimensions", "user", "encoding_format"]);

function embedded(call: Call, plan: Plan): Prepared {
  const { wire, target } = plan;
  const embeddings = known(plan.dialect.embeddings);
  const values = valuesOf(call.body);
  const own = (embeddings.hints ?? []).flatMap((name) => (name in values ? [[name, values[name]]] : []));
  const hints: JsonRecord = { ...Object.fromEntries(own), ...call.hints };
  const request = { ...embeddingRequest(values, call.model), hints };
  const named = Object.keys({ ...values, ...call.hints });
  const left = named.filter((name) => !READ.has(name) && embeddings.hints?.includes(name) !== true);
  return prepared(plan, embeddings.encode(request, { wire, target }), left, (reply) => {
    const found = embeddings.decode(reply);
    if (found.kind === "error") return found;
    if (found.vectors.length === 0) return undefined;
    const isBase64 = values["encoding_format"] === "base64";
    const body = embeddingList(found, call.originModel, isBase64);
    return { kind: "told", body, usage: found.usage };
  });
}

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

function spoken({ body, model, seed }: Call, plan: Plan): Prepared {
  const { wire, target, dialect, quirks, secrets } = plan;
  const speech = known(dialect.speech);
  const { request, dropped } = speechRequest(valuesOf(body), model);
  const encoded = speech.encode(request, { wire, target });
  const read = (reply: JsonRecord) => speech.decode(reply, { wire, model, seed });
  const course = new SpeechCourse({ dialect, quirks, secrets, read, format: request.format });
  return { ...written(encoded, dropped), course };
}

function prepared(
  { dialect, quirks, secrets }: Plan,
  encoded: Encoded,
  dropped: readonly string[],
  read: WholeOptions["read"],
): Prepared {
  return { ...written(encoded, dropped), course: new WholeCourse({ dialect, quirks, secrets, read }) };
}

function written(encoded: Encoded, dropped: readonly string[]): Omit<Prepared, "course"> {
  return {
    kind: "prepared",
    bytes: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? NOTHING,
    dropped: [...dropped, ...(encoded.dropped ?? NOTHING)],
  };
}

function known<T>(wire: T | undefined): T {
  if (wire === undefined) throw new Error("planned without a wire for it");
  return wire;
}
