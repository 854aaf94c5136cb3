// Whether a target took a message. Vendors answer 200 to what they refuse: the code in the body decides (requirements I52). Pure.
import type { TextResult } from "#server/egress/fetch-text.ts";
import type { PostKind } from "./wire.ts";

export type Outcome =
  | { readonly isSent: true }
  | {
      readonly isSent: false;
      /** A short Chinese sentence without the vendor's own words. */
      readonly problem: string;
      /** A later try may succeed. */
      readonly mayRetry: boolean;
      /** Not before so long. */
      readonly afterMs: number;
      /** The target says that it is gone for good. */
      readonly isGone?: true;
    };

const SENT: Outcome = { isSent: true };
const BUSY_MS = 60_000;
/** Waits that targets ask for are believed up to so long. */
const MAX_WAIT_MS = 15 * 60_000;
/** Signatures hold for an hour on both sides (vendors/feishu-robot, vendors/dingtalk-robot). */
const SIGNED_MS = 3_600_000;

function refused(problem: string): Outcome {
  return { isSent: false, problem, mayRetry: false, afterMs: 0 };
}

function later(problem: string, afterMs = 0): Outcome {
  return { isSent: false, problem, mayRetry: true, afterMs: Math.min(afterMs, MAX_WAIT_MS) };
}

type Answer = Extract<TextResult, { kind: "answer" }>;

interface Seen {
  readonly answer: Answer;
  /** The body, when it is a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly nowMs: number;
}

const BODY_CODES: Readonly<Record<Exclude<PostKind, "webhook" | "slack">, (seen: Seen) => Outcome>> = {
  feishu: (seen) => byCode(seen, "code", FEISHU),
  dingtalk: (seen) => byCode(seen, "errcode", DINGTALK),
  wecom: (seen) => byCode(seen, "errcode", WECOM),
  telegram: ({ body }) => (body?.["ok"] === true ? SENT : refused("没有被接受，请检查令牌与会话")),
  bark: ({ body }) => (body?.["code"] === 200 ? SENT : refused("没有被接受，请检查设备密钥")),
};

const SIGNATURE = "签名没有通过";
type Codes = Readonly<Record<number, Outcome>>;

const FEISHU: Codes = {
  19021: refused(SIGNATURE),
  19022: refused("本机的出口地址不在机器人的白名单里"),
  19024: refused("消息不含机器人要求的关键词"),
  11232: later("发送过于频繁", BUSY_MS),
};
const DINGTALK: Codes = {
  310000: refused(`${SIGNATURE}，或不符合机器人的关键词、地址限制`),
  130101: later("发送过于频繁", 10 * BUSY_MS),
  90030: refused("本月的调用次数已用完"),
};
const WECOM: Codes = {
  93000: refused("机器人的地址无效"),
  45009: later("发送过于频繁", BUSY_MS),
};

/** What became of a message. */
export function verdictOf(kind: PostKind, result: TextResult, nowMs: number): Outcome {
  if (result.kind === "fault") {
    if (result.code === "blocked") return refused("地址策略不允许访问该地址");
    return later(result.code === "timeout" ? "没有在 5 秒内应答" : `连接失败（${result.code}）`);
  }
  const body = objectOf(result.text);
  const seen = { answer: result, body, nowMs };
  return byStatus(kind, seen) ?? (kind === "slack" || kind === "webhook" ? SENT : BODY_CODES[kind](seen));
}

/** What the status alone says; undefined = it is a success. */
function byStatus(kind: PostKind, { answer, body, nowMs }: Seen): Outcome | undefined {
  const { status } = answer;
  const isTaken = status >= 200 && status < 300;
  if (isTaken && kind === "slack" && answer.text.trim() !== "ok") return later("返回的不是该服务的应答");
  if (isTaken) return undefined;
  if (status === 410 && kind === "webhook")
    return { isSent: false, problem: "对方表示已停用（410）", mayRetry: false, afterMs: 0, isGone: true };
  const problem = `返回状态码 ${status}`;
  if (status === 429) return later("发送过于频繁", askedMs(answer, body, nowMs));
  if (status >= 500 || kind === "webhook") return later(problem);
  return refused(problem);
}

/** How long a 429 asks to wait: Telegram says it in the body, others in the header. */
function askedMs({ headers }: Answer, body: Seen["body"], nowMs: number): number {
  const parameters = body?.["parameters"];
  const told =
    typeof parameters === "object" && parameters !== null && "retry_after" in parameters
      ? Number(parameters.retry_after)
      : Number.NaN;
  if (told > 0) return told * 1_000;
  const header = [headers["retry-after"] ?? ""].flat()[0] ?? "";
  const seconds = Number(header);
  const ms = header !== "" && Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - nowMs;
  return ms > 0 ? ms : BUSY_MS;
}

function byCode({ answer, body, nowMs }: Seen, field: string, codes: Codes): Outcome {
  const code = body?.[field];
  if (typeof code !== "number") return later("返回的不是该服务的应答");
  if (code === 0) return SENT;
  const known = codes[code] ?? refused(`没有被接受（错误码 ${code}）`);
  const told = known.isSent ? "" : known.problem;
  const skewMs = skewOf(answer, nowMs);
  if (!told.startsWith(SIGNATURE) || Math.abs(skewMs) < SIGNED_MS) return known;
  const minutes = Math.round(Math.abs(skewMs) / 60_000);
  return refused(`本机时间比对方${skewMs > 0 ? "慢" : "快"} ${minutes} 分钟，签名因此无效，请校准时间`);
}

/** How far the target's clock is ahead of ours, ms; 0 = it does not say. */
function skewOf({ headers }: Answer, nowMs: number): number {
  const atMs = Date.parse([headers["date"] ?? ""].flat()[0] ?? "");
  return Number.isNaN(atMs) ? 0 : atMs - nowMs;
}

function objectOf(text: string): Seen["body"] {
  try {
    const value: unknown = JSON.parse(text);
    // Any object may be read by name; each value is checked.
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
