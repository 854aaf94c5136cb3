// Responses that an upstream keeps: where they are asked for, and what it says of one that it makes in the background. Source:
// vendors/responses-stored.
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
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
