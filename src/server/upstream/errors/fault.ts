// Faults of calls to upstreams, created once with everything that later rooms need: whether failover is allowed, which part is to blame,
// what the caller may be told. The upstream's own text never reaches a caller unredacted.
import type { EgressFault } from "#server/egress/send.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { messageOf, signalsOf, titleOf } from "./message.ts";
import { redact, redactObject } from "./redact.ts";

/**
 * What a failure counts against: `credential` and `channel` affect the channel's health, `none` affects nothing, and `proxy` was counted
 * against the outbound proxy where it happened.
 */
export type Blame = "none" | "channel" | "credential" | "proxy";

export interface RelayFault {
  readonly kind: "fault";
  /** HTTP status for the caller. */
  readonly status: number;
  /** Stable; also the `code` of the error body. */
  readonly code: string | number | null;
  readonly type: string;
  readonly param: string | null;
  readonly publicMessage: string;
  /** Further fields of an upstream's error object, redacted. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /**
   * The upstream's whole error body, redacted, when it speaks the client's own format: clients act on its exact words
   * (vendors/claude-code, requirements T18.8).
   */
  readonly verbatim?: JsonRecord;
  /** Another channel may succeed. */
  readonly retry: boolean;
  readonly blame: Blame;
  /** For the logger only: short and typed, never an upstream's own text, which may repeat the request (requirements P01). */
  readonly detail: string;
  /**
   * The upstream's status and own text, redacted; for administrators only: in a channel's test, and in the log without text of the
   * request.
   */
  readonly words: string;
  /** Status of the upstream; 0 = it gave none. */
  readonly upstreamStatus: number;
  /** Codes of the upstream's error by which a channel can be found unusable (requirements W9.5). */
  readonly signals: readonly string[];
  /** How long the upstream asked to wait; 0 = it did not say. */
  readonly retryAfterMs: number;
  /** The same call would fail again, although its status invites a retry: SDKs are told not to retry. */
  readonly isFinal?: true;
  /** Nothing answers at the address of the proxy, for no user of it. */
  readonly isProxyGone?: true;
}

const FAULT: Omit<RelayFault, "status" | "code" | "publicMessage"> = {
  kind: "fault",
  type: "one_api_error",
  param: null,
  retry: false,
  blame: "none",
  detail: "",
  words: "",
  upstreamStatus: 0,
  signals: [],
  retryAfterMs: 0,
};

const MOST_CHARACTERS = 1_000;
const MOST_OF_A_NAME = 200;
/** Limit of an upstream's further error members, as JSON. */
const MOST_OF_THE_REST = 6_000;

function brief(message: string): string {
  return message.slice(0, MOST_CHARACTERS);
}

function named(name: string): string {
  return name.slice(0, MOST_OF_A_NAME);
}

/** A fault of the caller or the gateway: no channel is to blame and there is no failover. */
export function localFault(
  status: number,
  code: string,
  publicMessage: string,
  more: Partial<Pick<RelayFault, "type" | "param" | "detail">> = {},
): RelayFault {
  const { param = null } = more;
  // It may contain text of the request.
  return {
    ...FAULT,
    status,
    code,
    ...more,
    publicMessage: brief(publicMessage),
    param: param && named(param),
  };
}

/** A programming error while an answer was read: the call ends at once instead of by its time limit. */
export function ownFault(error: unknown): RelayFault {
  const detail = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : "";
  return localFault(500, "internal_error", "服务器内部错误，请联系管理员", { detail });
}

/** A channel whose configuration cannot serve this request; another one may. */
export function channelFault(code: string, publicMessage: string, detail = ""): RelayFault {
  return { ...FAULT, status: 500, code, publicMessage, retry: true, detail };
}

const EGRESS_MESSAGES: Readonly<Record<EgressFault["code"], readonly [status: number, message: string]>> = {
  blocked: [502, "该渠道的地址不允许访问"],
  dns: [502, "无法解析上游地址"],
  refused: [502, "无法连接上游"],
  connect_timeout: [504, "连接上游超时"],
  tls: [502, "与上游建立安全连接失败"],
  reset: [502, "上游连接中断"],
  timeout: [504, "等待上游响应超时"],
  idle: [504, "上游响应中断超时"],
  protocol: [502, "上游返回了无法识别的响应"],
  aborted: [499, "请求已取消"],
  // Callers learn that a proxy failed by the code; how, and where it is, is the operator's secret (requirements R19).
  proxy_unreachable: [502, "无法连接上游"],
  proxy_auth: [502, "无法连接上游"],
  proxy_refused: [502, "无法连接上游"],
  proxy_target: [502, "无法连接上游"],
  proxy_protocol: [502, "无法连接上游"],
};

/** What administrators are told of a proxy's failure. */
const PROXY_WORDS: Readonly<Partial<Record<EgressFault["code"], string>>> = {
  proxy_unreachable: "代理：无法连接",
  proxy_auth: "代理：用户名或密码被拒绝",
  proxy_refused: "代理：拒绝连接该地址",
  proxy_target: "代理：连不上该地址",
  proxy_protocol: "代理：应答无法识别",
  tls: "代理：与上游的安全连接被替换或损坏",
};

/** A network failure, of the upstream or of the proxy before it. The caller is told the kind, the logger the address. */
export function networkFault(fault: EgressFault): RelayFault {
  const [status, publicMessage] = EGRESS_MESSAGES[fault.code];
  const isProxy = fault.isProxy === true;
  // Also where the proxy has only told what the channel is to blame for: that its address does not answer.
  const isByProxy = isProxy || fault.code.startsWith("proxy_");
  return {
    ...FAULT,
    status,
    code: isByProxy ? "proxy_failed" : "do_request_failed",
    publicMessage,
    type: "upstream_error",
    retry: fault.code !== "aborted",
    blame: fault.code === "aborted" ? "none" : isProxy ? "proxy" : "channel",
    detail: `${fault.code}: ${fault.detail}`,
    words: (isByProxy && PROXY_WORDS[fault.code]) || "",
    ...(fault.code === "proxy_unreachable" && { isProxyGone: true as const }),
  };
}

/** The gateway ended the call itself: the client left, or the process stops. The channel is not to blame. */
export function isAborted({ status, upstreamStatus }: RelayFault): boolean {
  return status === EGRESS_MESSAGES.aborted[0] && upstreamStatus === 0;
}

/** The upstream's answer is no reply: HTML, empty, truncated JSON, an unexpected type (requirements R11). */
export function unreadableFault(detail: string, upstreamStatus: number): RelayFault {
  return {
    ...FAULT,
    status: 502,
    code: "bad_response",
    publicMessage: "上游返回了无法识别的响应",
    type: "upstream_error",
    retry: true,
    blame: "channel",
    detail,
    upstreamStatus,
  };
}

const RETRYABLE = new Set([401, 402, 403, 404, 408, 409, 429]);
/** Statuses whose details the caller does not get: the channel's key or account is at fault (requirements W20.16). */
const CREDENTIAL = new Set([401, 402, 403]);
/**
 * Messages of upstreams about a signature with a wrong time: then this machine's clock is wrong, not the key. Prose may decide this, since
 * it only removes blame. Source: vendors/zhipu, vendors/spark, vendors/hunyuan; AWS "Signature V4 troubleshooting"; Google's token
 * endpoint.
 */
const CLOCK_IS_WRONG =
  /SignatureExpire|\bSignature (expired|not yet current): |valid date or x-date header|Check your iat and exp values|Token ?(已过期，请重新生成|expired, please regenerate)/i;
/**
 * Codes of an unusable account that come with a status that would blame the request. Source: vendors/dashscope-errors, requirements
 * T29.18; OpenAI's images.
 */
const ACCOUNT_CODES = new Set(["Arrearage", "billing_hard_limit_reached"]);
const PAYMENT_REQUIRED = 402;

/** An error reply of an upstream. */
export interface UpstreamError {
  readonly status: number;
  /** The JSON of the body; undefined = it was none. */
  readonly body: unknown;
  /** The beginning of a body that is no JSON. */
  readonly text: string;
  readonly retryAfterMs: number;
  /** Strings that must not reach the caller: the channel's key and host. */
  readonly secrets: readonly string[];
}

/** A number or an identifier as providers name their errors; never prose. */
const WORD = /^(\d{1,9}|[A-Za-z][A-Za-z_.]{1,47})$/;

/** An error reply (requirements W8.5): OpenAI's shape is kept, any other becomes `upstream_error`; redacted either way. */
export function statusFault(error: UpstreamError): RelayFault {
  const { secrets } = error;
  const signals = signalsOf(error.body);
  const isAccount = error.status === 400 && signals.some((signal) => ACCOUNT_CODES.has(signal));
  const status = isAccount ? PAYMENT_REQUIRED : error.status;
  const found = messageOf(error.body) ?? titleOf(error.text) ?? "";
  const message = redact(found, secrets).trim() || `bad response status code ${status}`;
  const shared: RelayFault = {
    ...FAULT,
    status,
    code: "bad_response_status_code",
    type: "upstream_error",
    param: String(status),
    publicMessage: message,
    retry: status < 400 || RETRYABLE.has(status) || isServerError(status),
    blame: blameFor(status),
    detail: [
      `status ${status}`,
      ...new Set(signals.filter((signal) => WORD.test(redact(signal, secrets)))),
    ].join(" "),
    words: `${status}: ${message.slice(0, 300)}`,
    upstreamStatus: status,
    signals,
    retryAfterMs: error.retryAfterMs,
  };
  if (CREDENTIAL.has(status)) {
    const told = [...signals, message, asObject(error.body)?.["error_description"]].join("\n");
    if (CLOCK_IS_WRONG.test(told)) return clockFault(shared);
    const publicMessage = "上游拒绝了本服务的凭证，请联系管理员";
    return { ...shared, status: 502, code: "upstream_credential", param: null, publicMessage };
  }
  if (status < 400 || status > 599) {
    return { ...shared, status: 502, publicMessage: "上游返回了无法识别的响应" };
  }
  const object = asObject(asObject(error.body)?.["error"]);
  return typeof object?.["message"] === "string" ? { ...shared, ...openAiParts(object, secrets) } : shared;
}

/** The circuit of the channel may open, since it fails as long as the clock is wrong; its key is not to blame. */
function clockFault(shared: RelayFault): RelayFault {
  return {
    ...shared,
    status: 502,
    code: "server_clock",
    param: null,
    publicMessage: "本服务器的系统时间不准，上游拒绝了请求签名，请联系管理员校准时间",
    blame: "channel",
    detail: `the system clock is wrong: ${shared.detail}`,
  };
}

/** Paths and whole addresses: an "Invalid URL" message repeats the called one, and Gemini's has `models` in it. */
const ADDRESS = /(^|[\s("'`])(\w+:\/)?\/\S*/g;

/** The path does not exist: the 404 or 405 does not refer to the model. */
export function isPathAbsent({ upstreamStatus, publicMessage, code, signals }: RelayFault): boolean {
  if (upstreamStatus !== 404 && upstreamStatus !== 405) return false;
  return !/model/i.test([publicMessage.replace(ADDRESS, ""), code, ...signals].join(" "));
}

function isServerError(status: number): boolean {
  return status >= 500 && status !== 501;
}

function blameFor(status: number): Blame {
  if (CREDENTIAL.has(status)) return "credential";
  return isServerError(status) || status === 429 || status === 408 || status < 400 ? "channel" : "none";
}

/**
 * Type, param and code as the upstream sent them, and the other members of its error object. Google's code is the HTTP status again: its
 * `status` becomes the code, since Rust clients refuse a number there (async-openai did not retry after 429).
 */
function openAiParts(object: JsonRecord, secrets: readonly string[]): Partial<RelayFault> {
  const { message: _, type, param, code: given, ...rest } = object;
  const code = typeof given === "number" && typeof rest["status"] === "string" ? rest["status"] : given;
  const extra = Object.keys(rest).length > 0 ? shortObject(rest, secrets) : undefined;
  const nameIn = (text: string) => named(redact(text, secrets));
  return {
    type: typeof type === "string" ? nameIn(type) : "upstream_error",
    param: typeof param === "string" ? nameIn(param) : null,
    code: typeof code === "string" ? nameIn(code) : typeof code === "number" ? code : null,
    ...(extra && { extra }),
  };
}

/** An object without secrets; undefined = it is too long to be passed on (requirements P02). */
function shortObject(object: JsonRecord, secrets: readonly string[]): JsonRecord | undefined {
  const clean = redactObject(object, secrets);
  return JSON.stringify(clean).length > MOST_OF_THE_REST ? undefined : clean;
}

/** An error reply in the client's own format: the parts that the caller may see stay unchanged. */
export function nativeFault(error: UpstreamError): RelayFault {
  const fault = statusFault(error);
  const body = asObject(error.body);
  const isShown = !CREDENTIAL.has(error.status) && fault.status === error.status;
  const verbatim = isShown && body?.["error"] !== undefined ? shortObject(body, error.secrets) : undefined;
  return verbatim === undefined ? fault : { ...fault, verbatim };
}

/** An error that a dialect found in an answer, whatever status that came with. */
export function wireFault(
  error: {
    status: number;
    message: string;
    code: string | number | null;
    type: string;
    retryAfterMs?: number | undefined;
  },
  secrets: readonly string[],
  headerMs = 0,
): RelayFault {
  const { status, message, code, type, retryAfterMs = headerMs } = error;
  // Without a message only the code is left; a code that is no identifier may be any text.
  const isNamed = code !== null && WORD.test(String(code));
  const fallback = isNamed ? `upstream error ${code}` : `bad response status code ${status}`;
  const body = { error: { message: message === "" ? fallback : message, code, type } };
  return statusFault({ status, body, text: "", retryAfterMs, secrets });
}

/** The request needs a feature that this channel does not support; another one may. */
export function unmappableFault(what: string, reason: string): RelayFault {
  return {
    ...FAULT,
    status: 400,
    code: "unsupported_parameter",
    type: "invalid_request_error",
    param: named(what),
    publicMessage: brief(`${what}：${reason}`),
    retry: true,
  };
}

/** The last failure was the upstream's 429: callers are told of saturation, not of the upstream's limits (requirements W8.5). */
export function saturated(fault: RelayFault): RelayFault {
  const { extra: _, ...rest } = fault;
  return { ...rest, publicMessage: "当前分组上游负载已饱和，请稍后再试" };
}

/**
 * The same when the operator's account ran out of credit: by its code clients would blame their own account (Codex and SDKs stop), and the
 * upstream's message names the operator's. What is left is a generic 429 (requirements W8.5).
 */
export function accountless(fault: RelayFault): RelayFault {
  const { verbatim: _, ...rest } = saturated(fault);
  return { ...rest, type: "upstream_error", code: "bad_response_status_code", param: String(fault.status) };
}

/** The unit of Retry-After is seconds; a date counts from now. 0 = absent or unreadable; at most an hour. */
export function retryAfterOf(header: unknown, nowMs: number): number {
  if (typeof header !== "string") return 0;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 3_600_000) : 0;
}
