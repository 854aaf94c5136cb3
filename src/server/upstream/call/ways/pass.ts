// The wire is OpenAI's own: the bytes of the request pass with edits, and so do those of the response.

import { encodeBody, lostFields, valuesOf, wantsUsage } from "#server/upstream/call/body.ts";
import { type Call, NOTHING, type Plan, type Prepared, type Way } from "#server/upstream/call/call.ts";
import { clients } from "#server/upstream/clients/index.ts";
import { PassThroughHandler } from "#server/upstream/handlers/pass-through.ts";
import { hasAddresses, isNoWebAddress, translateWay } from "./translate.ts";

export const passWay: Way = {
  name: "pass",
  prepare: (tools, call, plan) =>
    mustFetch(call, plan) ? translateWay.prepare(tools, call, plan) : passed(call, plan),
};

/** Endpoints whose streams report usage only on request (vendors/openai-stream). */
const ASKS_USAGE: ReadonlySet<string> = new Set(["chat", "completions"]);

function passed({ endpoint, body, model, isStream, hints }: Call, plan: Plan): Prepared {
  const canAsk = isStream && ASKS_USAGE.has(endpoint);
  const { quirks, secrets, takesStreamOptions } = plan;
  const bytes = encodeBody(body, {
    model,
    asksUsage: canAsk && takesStreamOptions,
    dropsStreamOptions: !takesStreamOptions,
    edits: plan.edits,
    toolIdLength: quirks?.toolIdLength,
    effort: plan.effort,
  });
  const hidesUsage = isStream && !wantsUsage(body);
  const handler = new PassThroughHandler({ endpoint, quirks, secrets, hidesUsage });
  const unsaid = hints === undefined ? NOTHING : Object.keys(hints);
  const lost = plan.edits === undefined ? NOTHING : lostFields(body, plan.edits, plan.effort);
  const dropped = lost.length > 0 ? [...unsaid, ...lost] : unsaid;
  return { kind: "prepared", bytes, headers: NOTHING, handler, dropped };
}

const PICTURE = Buffer.from('"image_url"');

/** Whether the body has image URLs that this upstream does not open; otherwise the bytes could pass. */
function mustFetch({ endpoint, body, model, isStream }: Call, { quirks }: Plan): boolean {
  if (quirks?.inlinesMedia !== true || endpoint !== "chat" || !body.bytes.includes(PICTURE)) return false;
  return hasAddresses(clients.chat.parse(valuesOf(body), { model, isStream }), isNoWebAddress);
}
