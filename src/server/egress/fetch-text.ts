// One small call that reads a whole answer as it was sent: bounded in time and size, no redirects. For clients that verify signatures over
// an answer's bytes.
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

export type TextResult =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: ReplyHeaders;
      readonly text: string;
    }
  | ({ readonly kind: "fault" } & EgressFault);

/** Fetches an answer of any status. Never throws: every failure is a named fault. */
export function fetchText(egress: Pick<Egress, "send">, request: TextRequest): Promise<TextResult> {
  if (!URL.canParse(request.url))
    return Promise.resolve({ kind: "fault", code: "protocol", detail: "the address is not a URL" });
  const url = new URL(request.url);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: { status: number; headers: ReplyHeaders } = { status: 0, headers: {} };
    const end = (result: TextResult) => {
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
        onEnd: () => end({ kind: "answer", ...head, text: Buffer.concat(chunks).toString("utf8") }),
        onFault: (fault) => end({ kind: "fault", ...fault }),
      },
    );
  });
}
