// How each client format reports an error (requirements T3.3, T18.8): the body of an error, and the last event of a stream that broke.
import { openAiError } from "#server/errors.ts";
import { type ClientBody, valuesOf } from "#server/upstream/call/body.ts";
import { failedResponse } from "#server/upstream/clients/responses-reply.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import {
  ANTHROPIC_OVERFLOW,
  GEMINI_OVERFLOW,
  OVERFLOW,
  overflowMessage,
} from "#server/upstream/errors/overflow.ts";
import type { RateNames } from "./limit-head.ts";

type Json = Readonly<Record<string, unknown>>;

export interface ErrorFormat {
  /** The HTTP status of a fault in this format. */
  status(fault: RelayFault): number;
  body(fault: RelayFault, requestId: string): Json;
  /** A broken stream's last bytes; there is no terminator after them (requirements R10). */
  lastEvent(fault: RelayFault, requestId: string): string;
  /** Whether a fault before the first byte is sent as the only event of a stream with status 200, as the format's vendor does. */
  isEvent?(fault: RelayFault): boolean;
  /** A keep-alive between two events of a silent stream; "" = the format has none. */
  readonly ping: string;
  /** The names by which its clients know limits. */
  readonly rateNames: RateNames;
}

/** Anthropic's own status for "overloaded" means nothing to other clients (requirements T18.8). */
const OVERLOADED = 529;

const openai: ErrorFormat = {
  // Comments are part of every event stream (WHATWG HTML 9.2).
  ping: ": keep-alive\n\n",
  rateNames: "openai",

  status: ({ status }) => (status === OVERLOADED ? 503 : status),

  /** Source: requirements W8.5. */
  body(fault, requestId) {
    const { publicMessage: message, type, param, code, extra } = fault;
    const { error } = openAiError({ message, type, param, code }, requestId);
    return fault.verbatim ?? { error: { ...extra, ...error } };
  },

  /** As OpenAI sends it, then with the event name by which LangChain4j recognises an error: it took the broken answer for a whole one. */
  lastEvent(fault, requestId) {
    const event = `data: ${JSON.stringify(this.body(fault, requestId))}\n\n`;
    return `${event}event: error\n${event}`;
  },
};

/** Events are numbered upwards; earlier ones were not counted here, so the last ones get the largest numbers that every client can read. */
const LAST_NUMBER = 2 ** 31 - 1;

/** What a failed response repeats of its request. `startedMs` since 1970. */
export interface Asking {
  readonly model: string;
  readonly body: ClientBody;
  readonly startedMs: number;
}

/**
 * Its stream has an error event of its own, flat as documented and nested as OpenAI's servers send it: its SDK for Python recognises only
 * the latter. Codex reads only the failed response (vendors/responses-events).
 */
const responses: ErrorFormat = {
  ...openai,
  lastEvent: (fault, requestId) => lastOfResponse(fault, requestId),
};

function lastOfResponse(
  { publicMessage, type, code, param }: RelayFault,
  requestId: string,
  asking?: Asking,
): string {
  const message = `${publicMessage} (request id: ${requestId})`;
  const error = { code: code === null ? null : String(code), message };
  const told = { ...error, param };
  const { model = "", startedMs = 0 } = asking ?? {};
  const body = asking === undefined ? {} : valuesOf(asking.body);
  const shell = { seed: requestId, created: Math.trunc(startedMs / 1000), model, body };
  const response = failedResponse(shell, error);
  return [
    { type: "error", sequence_number: LAST_NUMBER - 1, ...told, error: { type, ...told } },
    { type: "response.failed", sequence_number: LAST_NUMBER, response },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

/**
 * For clients that stream: OpenAI reports an overflow within the stream, and only there Codex looks for the code upon which it compacts;
 * any 400 ends its turn. Source: openai/codex, codex-api/src/sse/responses.rs and api_bridge.rs.
 */
export function responsesStream(asking: Asking): ErrorFormat {
  return {
    ...responses,
    lastEvent: (fault, requestId) => lastOfResponse(fault, requestId, asking),
    isEvent: ({ code }) => code === OVERFLOW,
  };
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

const anthropic: ErrorFormat = {
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  rateNames: "anthropic",

  status: ({ status }) => status,

  body(fault, requestId) {
    if (fault.verbatim !== undefined) return fault.verbatim;
    const type =
      ANTHROPIC_TYPES[fault.status] ?? (fault.status < 500 ? "invalid_request_error" : "api_error");
    const details = fault.extra?.["details"];
    const error = {
      type,
      message: overflowMessage(fault, ANTHROPIC_OVERFLOW),
      ...(details !== undefined && { details }),
    };
    return { type: "error", error, request_id: requestId };
  },

  lastEvent(fault, requestId) {
    return `event: error\ndata: ${JSON.stringify(this.body(fault, requestId))}\n\n`;
  },
};

const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const gemini: ErrorFormat = {
  ping: openai.ping,
  rateNames: openai.rateNames,

  status: openai.status,

  body(fault, requestId) {
    if (fault.verbatim !== undefined) return fault.verbatim;
    const code = this.status(fault);
    const status = GEMINI_STATUSES[code] ?? (code < 500 ? "FAILED_PRECONDITION" : "INTERNAL");
    const message = `${overflowMessage(fault, GEMINI_OVERFLOW)} (request id: ${requestId})`;
    return { error: { code, message, status, ...retryDetails(fault) } };
  },

  /** In an event, and bare as Google's own servers send it: many SDKs overlook one of the two, and take a broken answer for a whole one. */
  lastEvent(fault, requestId) {
    const error = JSON.stringify(this.body(fault, requestId));
    return `data: ${error}\n\n${error}`;
  },
};

/** When to come again, as Google's own quota errors tell it. */
function retryDetails({ status, retryAfterMs }: RelayFault): Json {
  if (status !== 429 || retryAfterMs === 0) return {};
  const retryDelay = `${Math.ceil(retryAfterMs / 1_000)}s`;
  return { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] };
}

/** The stream is a JSON array: the error is its last item. */
const geminiArray: ErrorFormat = {
  ...gemini,
  // White space between items is ignored.
  ping: " ",

  lastEvent(fault, requestId) {
    return `,\r\n${JSON.stringify(this.body(fault, requestId))}]`;
  },
};

/** A realtime client gets an event; the close follows (requirements T3.3). */
export function realtimeError(fault: RelayFault, requestId: string): string {
  const { publicMessage: message, type, param, code } = fault;
  const { error } = openAiError({ message, type, param, code }, requestId);
  return JSON.stringify({
    type: "error",
    event_id: `event_${requestId}`,
    error: { ...error, event_id: null },
  });
}

export const errorFormats = { openai, responses, anthropic, gemini, geminiArray } as const;

/** The error format of a path. */
export function errorFormatOf(path: string, wantsEvents: boolean): ErrorFormat {
  if (path.startsWith("/v1/messages")) return anthropic;
  if (path.startsWith("/v1/responses")) return responses;
  const isGemini =
    /^\/v1(alpha|beta)?\/models\/[^:]+:/.test(path) || /^\/v1(alpha|beta)\/models(\/|$)/.test(path);
  if (!isGemini) return openai;
  return wantsEvents || !path.endsWith(":streamGenerateContent") ? gemini : geminiArray;
}
