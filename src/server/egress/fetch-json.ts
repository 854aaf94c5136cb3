// One small call that reads a whole JSON answer: bounded in time and size, no redirects, no encoded bodies. Small clients (balances,
// look-ups) use it; relayed calls do not.
import type { Egress } from "./dispatcher.ts";
import type { EgressFault, Flow, Route } from "./send.ts";

export interface JsonRequest {
  /** GET when absent. */
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly url: string;
  readonly body?: string | Uint8Array | undefined;
  /** The most bytes of the answer that are read; 256 KiB when absent. */
  readonly limitBytes?: number | undefined;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** These are all: nothing is put before them. */
  readonly isComplete?: true;
  /** For the whole call. */
  readonly timeoutMs: number;
  /** Absent = a small call of the gateway itself. */
  readonly route?: Route | undefined;
}

/** An answer of any status; `body` is undefined when it is no JSON. */
export interface JsonAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly body: unknown;
}

/** `isSent` = the request had been written to a socket: it may have been carried out. */
export type JsonResult = JsonAnswer | ({ readonly kind: "fault"; readonly isSent?: true } & EgressFault);

const LIMIT_BYTES = 256 * 1024;
const USUAL = ["accept", "application/json", "user-agent", "Tollgate"];

/** Fetches a JSON document. Never throws: every failure is a named fault. */
export function fetchJson(egress: Pick<Egress, "send">, request: JsonRequest): Promise<JsonResult> {
  if (!URL.canParse(request.url)) {
    return Promise.resolve({ kind: "fault", code: "protocol", detail: "the address is not a URL" });
  }
  const url = new URL(request.url);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let status = 0;
    const end = (result: JsonResult) => {
      clearTimeout(timer);
      resolve(result);
    };
    const giveUp = (fault: EgressFault) => {
      const sent = flow.isSent ? ({ isSent: true } as const) : {};
      flow.abort();
      end({ kind: "fault", ...fault, ...sent });
    };
    const timer = setTimeout(
      () => giveUp({ code: "timeout", detail: "no whole answer in time" }),
      request.timeoutMs,
    );
    const flow: Flow = egress.send(
      {
        method: request.method ?? "GET",
        origin: url.origin,
        path: url.pathname + url.search,
        headers: request.isComplete === true ? request.headers : [...USUAL, ...request.headers],
        body: typeof request.body === "string" ? Buffer.from(request.body) : request.body,
        headersTimeoutMs: request.timeoutMs,
        idleTimeoutMs: request.timeoutMs,
        route: request.route,
      },
      {
        onStart(code) {
          status = code;
        },
        onData(chunk) {
          size += chunk.length;
          if (size > (request.limitBytes ?? LIMIT_BYTES))
            giveUp({ code: "protocol", detail: "the answer is too large" });
          else chunks.push(chunk);
        },
        onEnd: () => end({ kind: "answer", status, body: parse(Buffer.concat(chunks).toString("utf8")) }),
        onFault: (fault) => end({ kind: "fault", ...fault, ...(flow.isSent && { isSent: true }) }),
      },
    );
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
