// One small call as a library for logins wants it made: takes what `fetch` takes and answers with a Response. Five seconds, 256 KiB, no
// redirects, and the address policy as everywhere (requirements I45).
import type { Egress } from "./dispatcher.ts";
import { fetchText } from "./fetch-text.ts";
import { unreached } from "./small-call.ts";

const LOGIN_CALL = { timeoutMs: 5_000, limitBytes: 256 * 1024 } as const;

/** What of a call is passed on; an answer that redirects is an answer like any other. */
interface CallInit {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** There was no answer. */
export class UnreachedError extends Error {
  override readonly name = "UnreachedError";
  /** As in `Unreached`. */
  readonly isProxy: boolean;

  constructor(fault: Parameters<typeof unreached>[0]) {
    const { problem, isProxy } = unreached(fault);
    super(`egress ${problem}`);
    this.isProxy = isProxy;
  }
}

/** Statuses whose Response may have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Throws: when there was no whole answer; the message is short and names no secret. */
export async function fetchResponse(
  egress: Pick<Egress, "send">,
  url: string,
  { method, headers = {}, body }: CallInit,
): Promise<Response> {
  const result = await fetchText(egress, {
    ...LOGIN_CALL,
    method: method === "POST" ? "POST" : "GET",
    url,
    headers: Object.entries(headers).flat(),
    body: body === undefined || body === null ? undefined : String(body),
  });
  if (result.kind === "fault") throw new UnreachedError(result);
  if (result.status < 200 || result.status > 599) throw new Error(`status ${result.status}`);
  const answered = new Headers();
  for (const [name, value] of Object.entries(result.headers))
    for (const one of [value ?? []].flat()) answered.append(name, one);
  return new Response(BODILESS.has(result.status) ? null : result.text, {
    status: result.status,
    headers: answered,
  });
}
