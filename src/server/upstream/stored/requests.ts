// Responses that an upstream keeps: where they are asked for, and what it says of one that it makes in the background. Source:
// vendors/responses-stored.
import { type ClientBody, priceFields, valuesOf, withoutFields } from "#server/upstream/call/body.ts";
import { inputWithoutThoughts } from "#server/upstream/call/body-messages.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import { isUnreadable } from "#server/upstream/clients/responses.ts";
import { usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { type Polled, textAt, type VideoRequest } from "#server/upstream/video/wire.ts";

/** A request about one response; `tail` begins with a slash or is "". */
export function storedRequest(
  { provider }: Pick<UpstreamTarget, "provider">,
  method: VideoRequest["method"],
  { id, tail = "" }: { readonly id: string; readonly tail?: string },
): VideoRequest {
  return { method, path: `${provider.paths.responses ?? ""}/${encodeURIComponent(id)}${tail}` };
}

/** A client's request, to be made in the background: what changes the price is left out, and thoughts that only the account that had them can read. */
export function backgroundRequest(
  { provider }: Pick<UpstreamTarget, "provider">,
  {
    body,
    model,
    isPinned,
  }: { readonly body: ClientBody; readonly model: string; readonly isPinned: boolean },
): VideoRequest {
  const dear = priceFields(body, "responses", provider.quirks?.priceFields);
  const values = valuesOf(dear.length === 0 ? body : withoutFields(body, dear));
  const input = isPinned ? undefined : inputWithoutThoughts(body, isUnreadable);
  const asked = input === undefined ? values : { ...values, input: JSON.parse(input) };
  const path = provider.paths.responses ?? "";
  return { method: "POST", path, body: { ...asked, model, store: true, background: true } };
}

const RUNNING: ReadonlyMap<string, "queued" | "in_progress"> = new Map([
  ["queued", "queued"],
  ["in_progress", "in_progress"],
]);

/** How far a response is that is made in the background. A word that is unknown ends nothing. */
export function polledResponse(body: JsonRecord): Polled {
  const status = textAt(body, "status");
  const given = asObject(body["usage"]);
  const usage = given && usageFromResponses(given);
  const running = RUNNING.get(status);
  if (running !== undefined) return { state: running };
  if (status === "completed" || status === "incomplete") return { state: "done", result: status, usage };
  if (status === "cancelled") return { state: "cancelled", code: status, message: "", usage };
  if (status !== "failed") return { state: "unknown" };
  const error = asObject(body["error"]);
  return { state: "failed", code: textAt(error, "code") || status, message: textAt(error, "message") };
}
