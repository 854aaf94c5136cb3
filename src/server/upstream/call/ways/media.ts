// Pictures and sound on OpenAI's own wire: JSON or a form, with the model's upstream name.

import { encodeBody, priceFieldsOfForm } from "#server/upstream/call/body.ts";
import { type Call, NOTHING, type Plan, type Prepared, type Way } from "#server/upstream/call/call.ts";
import { encodeForm } from "#server/upstream/call/form.ts";
import { isTask, MediaHandler } from "#server/upstream/handlers/media.ts";

export const mediaWay: Way = { name: "media", prepare: (_tools, call, plan) => passed(call, plan) };

async function passed(
  { body, form, model, endpoint }: Call,
  { quirks, secrets, edits }: Plan,
): Promise<Prepared> {
  if (!isTask(endpoint)) throw new Error(`planned ${endpoint} as media`);
  const handler = new MediaHandler({ endpoint, quirks, secrets });
  const shared = { kind: "prepared", headers: NOTHING, dropped: NOTHING, handler } as const;
  if (form !== undefined) {
    const dropped = priceFieldsOfForm(form, quirks?.priceFields);
    return { ...shared, dropped, ...(await encodeForm(form, model, dropped)) };
  }
  const order = { model, asksUsage: false, dropsStreamOptions: false, edits, toolIdLength: undefined };
  return { ...shared, bytes: encodeBody(body, order) };
}
