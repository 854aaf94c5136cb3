// One small call of a task's interface to the channel it belongs to, with the channel's key and by its route. Says of a failure whether
// anything was sent: what was sent is never sent again (requirements C53).
import { withoutEndSlashes } from "#contract/wire.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { fetchJson } from "#server/egress/fetch-json.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import {
  type About,
  answerFault,
  type Draft,
  type OutgoingTools,
  outgoing,
} from "#server/upstream/call/outgoing.ts";
import { networkFault, type RelayFault, unreadableFault } from "#server/upstream/errors/fault.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { signerFor } from "#server/upstream/signers/index.ts";
import type { VideoRequest } from "./wire.ts";

export interface TaskCallTools extends OutgoingTools {
  readonly egress: Pick<Egress, "send">;
}

/** `fault.isUnsure` = the upstream may have done it all the same. */
export type TaskAnswer =
  | { readonly kind: "answer"; readonly body: JsonRecord }
  | { readonly kind: "failed"; readonly fault: RelayFault; readonly isUnsure: boolean };

const TIMEOUT_MS = 30_000;
/** An answer may repeat a picture of the request. */
const LIMIT_BYTES = 16 * 1024 * 1024;
/** What an address may end in besides the host, when it was given for another interface of the same vendor. */
const VERSION_END = /(\/(api\/v\d+|api\/coding|compatible-mode|apps\/anthropic|v\d+(alpha|beta)?|openai))+$/;

/** The address of a request below its channel's own. */
export function taskUrl({ baseUrl, provider }: UpstreamTarget, path: string): string {
  return withoutEndSlashes(baseUrl || provider.baseUrl).replace(VERSION_END, "") + path;
}

/** A request of a task's interface before rules and without a credential that is made when it is sent. */
export function taskDraft(
  target: UpstreamTarget,
  { method, path, body, fixed, headers = [] }: VideoRequest,
  own: readonly string[] = ["accept", "application/json"],
): Draft {
  const json = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const { key, provider } = target;
  const signer = signerFor(provider.signer, "models");
  return {
    method,
    url: taskUrl(target, path),
    headers: [
      ...[...own, "user-agent", "Tollgate"],
      ...(json === undefined ? [] : ["content-type", "application/json"]),
      ...(signer.kind === "fixed" ? signer.sign(key).headers : []),
      ...headers,
    ],
    body: json,
    fixed,
    signer: signer.kind === "call" ? signer : undefined,
  };
}

/** Asks. Never throws. */
export async function callTask(
  tools: TaskCallTools,
  target: UpstreamTarget,
  request: VideoRequest,
  about: About,
): Promise<TaskAnswer> {
  const ready = await outgoing(tools, target, taskDraft(target, request), about);
  if (ready.kind === "fault") return { kind: "failed", fault: ready, isUnsure: false };
  const { url, headers, body, secrets } = ready;
  const result = await fetchJson(tools.egress, {
    method: request.method,
    url,
    headers,
    isComplete: true,
    body,
    timeoutMs: TIMEOUT_MS,
    limitBytes: LIMIT_BYTES,
    route: target.route,
  });
  if (result.kind === "fault")
    return { kind: "failed", fault: networkFault(result), isUnsure: result.isSent === true };
  const { status } = result;
  const object = asObject(result.body);
  if (status >= 200 && status < 300 && object !== undefined) return { kind: "answer", body: object };
  if (status >= 400) {
    const hidden = [...secrets, new URL(url).host];
    const error = { status, body: result.body, text: "", retryAfterMs: 0, secrets: hidden };
    // A gateway on the way may have failed after the upstream had it.
    return { kind: "failed", fault: answerFault(target, error), isUnsure: status >= 500 };
  }
  return { kind: "failed", fault: unreadableFault("no JSON object", status), isUnsure: true };
}
