// Speech synthesis on a wire of the dialect's own.

import { valuesOf } from "#server/upstream/call/body.ts";
import type { Call, Plan, Prepared, Way } from "#server/upstream/call/call.ts";
import { SpeechHandler, speechRequest } from "#server/upstream/handlers/speech.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { known, written } from "./told-whole.ts";

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
