// One small call of a task's interface to the channel it belongs to, with the channel's key and by its route. Says of a failure whether
// anything was sent: what was sent is never sent again (requirements C53).
import { withoutEndSlashes } from "#contract/wire.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { fetchJson } from "#server/egress/fetch-json.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import {
  networkFault,
  type RelayFault,
  statusFault,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { signerFor } from "#server/upstream/signers/index.ts";
import { isFault, secretsOf } from "#server/upstream/signers/signer.ts";
import type { TokenCache } from "#server/upstream/signers/token-cache.ts";
import type { VideoRequest } from "./wire.ts";

export interface TaskCallTools {
  readonly egress: Pick<Egress, "send">;
  readonly credentials: TokenCache;
  /** Unit: ms since 1970. */
  readonly now: () => number;
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

/** The credential of a request: names and values in turn, or why there is none. */
export async function taskCredential(
  tools: TaskCallTools,
  target: UpstreamTarget,
  request: { readonly method: VideoRequest["method"]; readonly url: string; readonly body: Uint8Array },
): Promise<{ readonly headers: readonly string[]; readonly secrets: readonly string[] } | RelayFault> {
  const signer = signerFor(target.provider.signer, "models");
  const { key, other } = target;
  const secrets = secretsOf(key);
  if (signer.kind === "fixed") return { headers: signer.sign(key).headers, secrets };
  const method = request.method === "POST" ? "POST" : "GET";
  const asked = { ...request, method, nowMs: tools.now(), other } as const;
  const signed = await signer.sign(key, asked, { tokens: tools.credentials, route: target.route });
  return isFault(signed)
    ? signed
    : { headers: signed.headers, secrets: [...secrets, ...(signed.secrets ?? [])] };
}

/** Asks. Never throws. */
export async function callTask(
  tools: TaskCallTools,
  target: UpstreamTarget,
  { method, path, body, headers = [] }: VideoRequest,
): Promise<TaskAnswer> {
  const url = taskUrl(target, path);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const credential = await taskCredential(tools, target, { method, url, body: Buffer.from(text ?? "") });
  if ("kind" in credential) return { kind: "failed", fault: credential, isUnsure: false };
  const result = await fetchJson(tools.egress, {
    method,
    url,
    headers: [
      ...(text === undefined ? [] : ["content-type", "application/json"]),
      ...credential.headers,
      ...headers,
    ],
    body: text,
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
    const secrets = [...credential.secrets, new URL(url).host];
    const fault = statusFault({ status, body: result.body, text: "", retryAfterMs: 0, secrets });
    // A gateway on the way may have failed after the upstream had it.
    return { kind: "failed", fault, isUnsure: status >= 500 };
  }
  return { kind: "failed", fault: unreadableFault("no JSON object", status), isUnsure: true };
}
