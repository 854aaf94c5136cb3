// One call that reads a whole answer as it was sent: bounded in time and size, no redirects. For clients that verify signatures over an
// answer's bytes, and for files.
import type { Egress } from "./dispatcher.ts";
import type { EgressFault, Flow, ReplyHeaders } from "./send.ts";

export interface TextRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly body?: string | undefined;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** For the whole call. */
  readonly timeoutMs: number;
  readonly limitBytes: number;
}

interface Head {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: ReplyHeaders;
}
type Fault = { readonly kind: "fault" } & EgressFault;

export type TextResult = (Head & { readonly text: string }) | Fault;
export type BytesResult = (Head & { readonly bytes: Buffer }) | Fault;

/** As `fetchBytes`, read as UTF-8. */
export async function fetchText(egress: Pick<Egress, "send">, request: TextRequest): Promise<TextResult> {
  const result = await fetchBytes(egress, request);
  if (result.kind === "fault") return result;
  const { bytes, ...head } = result;
  return { ...head, text: bytes.toString("utf8") };
}

/** Fetches an answer of any status. Never throws: every failure is a named fault. */
export function fetchBytes(egress: Pick<Egress, "send">, request: TextRequest): Promise<BytesResult> {
  if (!URL.canParse(request.url))
    return Promise.resolve({ kind: "fault", code: "protocol", detail: "the address is not a URL" });
  const url = new URL(request.url);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: { status: number; headers: ReplyHeaders } = { status: 0, headers: {} };
    const end = (result: BytesResult) => {
      clearTimeout(timer);
      resolve(result);
    };
    const giveUp = (fault: EgressFault) => {
      flow.abort();
      end({ kind: "fault", ...fault });
    };
    const timer = setTimeout(
      () => giveUp({ code: "timeout", detail: "no whole answer in time" }),
      request.timeoutMs,
    );
    const flow: Flow = egress.send(
      {
        method: request.method,
        origin: url.origin,
        path: url.pathname + url.search,
        headers: ["user-agent", "Tollgate", ...request.headers],
        body: request.body === undefined ? undefined : Buffer.from(request.body),
        headersTimeoutMs: request.timeoutMs,
        idleTimeoutMs: request.timeoutMs,
      },
      {
        onStart(status, headers) {
          head = { status, headers };
        },
        onData(chunk) {
          size += chunk.length;
          if (size > request.limitBytes) giveUp({ code: "protocol", detail: "the answer is too large" });
          else chunks.push(chunk);
        },
        onEnd: () => end({ kind: "answer", ...head, bytes: Buffer.concat(chunks) }),
        onFault: (fault) => end({ kind: "fault", ...fault }),
      },
    );
  });
}
