// The error catalogue of the console in one place (requirements B8): which failure becomes which toast or redirect.
import { createStore } from "./store.ts";
import { toast } from "./toast.ts";

export type FaultKind =
  /** HTTP 401: no session. */
  | "signed-out"
  /** The account needs a second factor and has none. */
  | "unprotected"
  /** `success` false, or input the contract refuses before it is sent. */
  | "refused"
  /** Any other HTTP status that is not 2xx. */
  | "http"
  /** No answer at all. */
  | "network"
  /** An answer that is not the contract's form. */
  | "unreadable";

/** A call that did not succeed. `message` is a Chinese sentence that may be shown. */
export class ApiFault extends Error {
  readonly kind: FaultKind;
  readonly status: number;

  constructor(kind: FaultKind, message: string, detail: { status?: number; cause?: unknown } = {}) {
    super(message, { cause: detail.cause });
    this.name = "ApiFault";
    this.kind = kind;
    this.status = detail.status ?? 0;
  }
}

export const messages = {
  expired: "未登录或登录已过期，请重新登录！",
  tooMany: "错误：请求次数过多，请稍后再试！",
  internal: "错误：服务器内部错误，请联系管理员！",
  demo: "本站仅作演示之用，无服务端！",
  unreachable: "无法正常连接至服务器！",
  unreadable: "服务器返回了无法识别的数据",
  failed: "操作失败，请稍后再试",
  unknown: "服务器没有这项功能（HTTP 404）",
  badExpiry: "过期时间格式错误！",
  checking: "请稍后几秒重试，Turnstile 正在检查用户环境！",
  unconfirmed: "已取消身份验证",
  clipboard: "无法复制到剪贴板，请手动复制",
} as const;

type SignedOutHandler = () => void;
const signedOut = createStore<SignedOutHandler | undefined>(undefined);

/** Says what happens on a 401: the app clears the session and goes to /login?expired=true. */
export function bindSignedOut(handler: SignedOutHandler): void {
  signedOut.set(handler);
}

const unprotected = createStore<SignedOutHandler | undefined>(undefined);

/** Says where an account without a second factor, which needs one, is led. */
export function bindUnprotected(handler: SignedOutHandler): void {
  unprotected.set(handler);
}

/** The sentence of a failure, for toasts and error states. */
export function faultText(error: unknown): string {
  if (!(error instanceof ApiFault)) return error instanceof Error ? error.message : messages.failed;
  if (error.status === 429) return error.message;
  if (error.status === 500) return messages.internal;
  if (error.status === 405) return messages.demo;
  if (error.kind === "http") return `错误：${error.message}`;
  return error.message;
}

/** Tells the user about a failure by the catalogue: redirect on 401, a toast otherwise. */
export function handleFault(error: unknown): void {
  if (error instanceof ApiFault && error.kind === "signed-out") {
    signedOut.get()?.();
    return;
  }
  if (error instanceof ApiFault && error.kind === "unprotected") {
    unprotected.get()?.();
    return;
  }
  if (error instanceof ApiFault && error.status === 405) toast.info(messages.demo);
  else toast.error(faultText(error));
}
