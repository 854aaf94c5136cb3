// Embeddings on a wire of the dialect's own.

import { valuesOf } from "#server/upstream/call/body.ts";
import type { Call, Plan, Prepared, Way } from "#server/upstream/call/call.ts";
import { embeddingList, embeddingRequest } from "#server/upstream/handlers/embeddings.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { known, prepared } from "./told-whole.ts";

export const embeddingsWay: Way = {
  name: "embeddings",
  prepare: (_tools, call, plan) => embedded(call, plan),
};

/** The fields of OpenAI's body that every wire understands (vendors/openai-embeddings). */
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
