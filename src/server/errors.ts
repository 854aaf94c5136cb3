// What can go wrong for a client: one constructor per case, a public sentence beside the internal detail, and the two
// renderers (management envelope, OpenAI error body). Statuses follow requirements W1.2: business errors are 200.
import type { Language } from "#contract/language.ts";
import { say } from "#server/locale/sentences.ts";

/** A failure with a stable code, the sentence the client sees and the detail that only the logger sees. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: string;
  readonly status: number;
  readonly publicMessage: string;
  readonly detail: string;
  /** Seconds for Retry-After; only with status 429 and 503. */
  readonly retryAfterSec: number | undefined;
  /** A word for clients, beside the message: what they can do about it. */
  readonly wireCode: string | undefined;

  constructor(fields: {
    code: string;
    status: number;
    publicMessage: string;
    detail?: string | undefined;
    retryAfterSec?: number | undefined;
    wireCode?: string | undefined;
    cause?: unknown;
  }) {
    super(`${fields.code}: ${fields.detail ?? fields.publicMessage}`, { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status;
    this.publicMessage = fields.publicMessage;
    this.detail = fields.detail ?? "";
    this.retryAfterSec = fields.retryAfterSec;
    this.wireCode = fields.wireCode;
  }
}

function failure(code: string, status: number, publicMessage: string, detail?: string): AppError {
  return new AppError({ code, status, publicMessage, detail });
}

export const faults = {
  /** A rule of the business said no; the message tells which. */
  refused: (publicMessage: string, detail?: string) => failure("refused", 200, publicMessage, detail),
  /** Our own proxy failed on the way to a service: nothing that the client could mend. `what` did not come about. */
  proxyFailed: (what: string, detail: string) =>
    failure("proxy_failed", 200, `${what}：本站的出站代理不可用，请稍后再试或联系管理员`, detail),
  /** Parameters, query or body do not fit the endpoint's schema. */
  invalid: (publicMessage = "请求参数有误", detail?: string) =>
    failure("invalid", 200, publicMessage, detail),
  /** A body that is not JSON where the family answers 400 (requirements W1.2). */
  undecodable: () => failure("undecodable", 400, "请求参数有误", "body is not JSON"),
  /** A head that can be read in two ways (requirements R17). */
  ambiguous: () => failure("ambiguous_request", 400, "请求头有歧义"),
  notFound: (publicMessage = "找不到该记录") => failure("not_found", 200, publicMessage),
  notSignedIn: () => failure("not_signed_in", 401, "请先登录后再操作"),
  accessTokenUnknown: () => failure("access_token_unknown", 200, "访问凭证无效"),
  /** A service account is used from an address that it is not for. */
  addressRefused: (detail: string) =>
    failure("address_refused", 403, "该服务账户不允许从当前网络地址使用", detail),
  accountDisabled: () => failure("account_disabled", 200, "该账户已停用，请联系管理员"),
  roleTooLow: () => failure("role_too_low", 200, "权限不够，无法执行该操作"),
  /** The actor may not do this, or not to that; the audit log gets an entry, with what it was `about` (requirements P05). */
  denied: (publicMessage: string, about: string) => failure("denied", 200, publicMessage, about),
  /** A browser on another site caused the call (requirements Q2, Z09). */
  crossSite: (detail: string) => failure("cross_site", 403, "拒绝跨站请求", detail),
  /** The session looks at the console of another user (requirements Z24). */
  viewOnly: () => failure("view_only", 403, "您正在以其他用户的身份查看，只能查看，不能操作"),
  /** The state of a third-party login is missing, used, too old, or another browser's (requirements W4.5). */
  stateMismatch: () => failure("state_mismatch", 403, "登录状态校验失败，请重新发起"),
  /** The owner has to prove again to be there; the words are those of the family (requirements I32). */
  verification: (
    wireCode: "VERIFICATION_REQUIRED" | "VERIFICATION_EXPIRED" | "VERIFICATION_INVALID",
    publicMessage: string,
  ) => new AppError({ code: "verification", status: 403, publicMessage, wireCode }),
  /** The account needs a second factor and has none (requirements I31). */
  enrolmentRequired: () =>
    new AppError({
      code: "enrolment_required",
      status: 403,
      publicMessage: "管理员要求启用两步验证：请先在 设置 → 个人设置 → 安全 中添加验证方式",
      wireCode: "MFA_ENROLMENT_REQUIRED",
    }),
  bodyTooLarge: () => failure("body_too_large", 413, "请求内容过大"),
  tooMany: (retryAfterMs: number, publicMessage = "") =>
    new AppError({
      code: "too_many_requests",
      status: 429,
      publicMessage,
      retryAfterSec: Math.max(1, Math.ceil(retryAfterMs / 1000)),
    }),
  /** The database cannot be written, or not now; nothing was done. */
  unavailable: (cause: unknown) =>
    new AppError({
      code: "unavailable",
      status: 503,
      publicMessage: "数据库暂时不可用，请稍后再试",
      detail: cause instanceof Error ? cause.message : "",
      retryAfterSec: 2,
      cause,
    }),
  /** The process holds nearly as much as it can (requirements D02). */
  overloaded: () =>
    new AppError({
      code: "overloaded",
      status: 503,
      publicMessage: "服务繁忙，请稍后再试",
      retryAfterSec: 3,
    }),
  /** Something that should not happen; the cause goes to the logger only. */
  internal: (cause: unknown) =>
    new AppError({ code: "internal", status: 500, publicMessage: "服务器内部错误，请联系管理员", cause }),
} as const;

/** Anything thrown as an AppError: what is none was not expected. */
export function asAppError(error: unknown): AppError {
  return error instanceof AppError ? error : faults.internal(error);
}

/** The management envelope of a failure, in the client's language (requirements W1.1). */
export function renderEnvelope(
  error: AppError,
  language: Language,
): {
  success: false;
  message: string;
  data: null;
  code?: string;
} {
  const code = error.wireCode === undefined ? {} : { code: error.wireCode };
  return { success: false, message: say(error.publicMessage, language), data: null, ...code };
}

export interface OpenAiErrorBody {
  readonly error: { message: string; type: string; param: string | null; code: string | number | null };
}

/** The error body of the relay and of unknown paths, with the request id in the message (requirements W8.5). */
export function openAiError(
  error: { message: string; type?: string; param?: string | null; code?: string | number | null },
  requestId: string,
): OpenAiErrorBody {
  return {
    error: {
      message: `${error.message} (request id: ${requestId})`,
      type: error.type ?? "one_api_error",
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

/** The body of a path that is not there, below /api and /v1 (requirements W8.5). */
export function unknownPathError(method: string, path: string): OpenAiErrorBody {
  return {
    error: {
      message: `Invalid URL (${method} ${path.slice(0, 200)})`,
      type: "invalid_request_error",
      param: "",
      code: "",
    },
  };
}
