// What a client is told by a limit that is set for a token, a user, a group or a model: in the codes, statuses and headers upon which
// official SDKs and coding agents do the right thing (vendors/limit-refusals).
import type { LimitKind, LimitSubject, LimitWindow } from "#contract/limit-words.ts";
import type { LimitRow } from "#server/store/limits.ts";
import { localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { CHANNELS_FULL, isLack } from "./local-errors.ts";

type Named = Pick<LimitRow, "subject" | "subject_name" | "model_pattern" | "kind" | "time_window">;

const SUBJECTS: Readonly<Record<LimitSubject, string>> = {
  token: "令牌",
  seat: "团队成员",
  project: "项目",
  team: "团队",
  user: "账户",
  member: "账户",
  group: "分组",
  all: "全站",
  channel: "渠道",
  channel_key: "渠道密钥",
};
const KINDS: Readonly<Record<Exclude<LimitKind, "quota" | "calls">, string>> = {
  rpm: "每分钟请求数",
  tpm: "每分钟 Token 数",
  input_tpm: "每分钟输入 Token 数",
  output_tpm: "每分钟输出 Token 数",
  running: "同时进行的请求数",
  cost: "单次请求费用",
};
const WINDOWS: Readonly<Record<LimitWindow, string>> = {
  session: "5 小时",
  day: "每日",
  week: "每周",
  month: "每月",
  rolling_5h: "最近 5 小时",
  rolling_day: "最近 24 小时",
  rolling_week: "最近 7 天",
  rolling_month: "最近 30 天",
  total: "总",
};

/** A limit in words, as `令牌每分钟请求数上限（gpt-4o）`. */
function nameOf({ subject, subject_name, model_pattern, kind, time_window }: Named): string {
  const what =
    kind === "quota" || kind === "calls"
      ? `${WINDOWS[time_window]}${kind === "quota" ? "额度" : "请求数"}`
      : KINDS[kind];
  const of = subject === "group" ? `分组 ${subject_name} ` : SUBJECTS[subject];
  return `${of}${what}上限${model_pattern === "" ? "" : `（${model_pattern}）`}`;
}

/** Codex waits for the time that it finds in these English words (openai/codex, codex-api). */
function again(waitMs: number): string {
  return `Please try again in ${Math.max(1, Math.ceil(waitMs / 1_000))}s.`;
}

/** What clients read of each refusal, whatever its sentence. */
const REFUSALS = {
  tooFast: { status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" },
  tooManyAtOnce: { status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" },
  usedUp: { status: 429, code: "usage_limit_reached", type: "usage_limit_reached" },
  /** The plan has no room, and is not to be paid for from the wallet. */
  planUsedUp: { status: 429, code: "plan_quota", type: "usage_limit_reached" },
  planTooSmall: { status: 400, code: "plan_quota", type: "invalid_request_error" },
  /** It would never fit, however long the client waits. */
  tooLarge: { status: 400, code: "request_exceeds_limit", type: "invalid_request_error" },
  tooDear: { status: 400, code: "request_cost_limit", type: "invalid_request_error" },
} as const;
type Refusal = keyof typeof REFUSALS;

function refusalOf(which: Refusal, text: string): RelayFault {
  const { status, code, type } = REFUSALS[which];
  return localFault(status, code, text, { type });
}

interface Reset {
  readonly resetsAt: number;
  /** "" = there is no reset. */
  readonly resetText: string;
  readonly nowMs: number;
}

/** Waiting for it in the SDK would be a trap: Anthropic's sleeps for as long as it is told, 24 days if need be. */
function usageReached(
  which: "usedUp" | "planUsedUp",
  text: string,
  { resetsAt, resetText, nowMs }: Reset,
): RelayFault {
  return {
    ...refusalOf(which, text),
    ...(resetText !== "" && {
      extra: { resets_at: resetsAt },
      retryAfterMs: Math.max(1_000, resetsAt * 1_000 - nowMs),
    }),
    isFinal: true,
  };
}

export const limitErrors = {
  tooFast: (row: Named, waitMs: number): RelayFault => ({
    ...refusalOf("tooFast", `超过${nameOf(row)}，请稍后再试。${again(waitMs)}`),
    retryAfterMs: waitMs,
  }),
  tooManyAtOnce: (row: Named): RelayFault => ({
    ...refusalOf("tooManyAtOnce", `超过${nameOf(row)}，请等待其他请求完成。${again(1_000)}`),
    retryAfterMs: 1_000,
  }),
  usedUp: (row: Named, reset: Reset): RelayFault => {
    const until = reset.resetText === "" ? "" : `，${reset.resetText}恢复`;
    return usageReached("usedUp", `已达到${nameOf(row)}${until}`, reset);
  },
  planUsedUp: (reset: Reset): RelayFault =>
    usageReached("planUsedUp", `套餐额度已用完，${reset.resetText}恢复`, reset),
  planTooSmall: (): RelayFault =>
    refusalOf("planTooSmall", "该请求超过套餐在一个时段内的额度，请减小 max_tokens 或输入"),
  tooLarge: (row: Named): RelayFault =>
    refusalOf("tooLarge", `该请求超过${nameOf(row)}，请减小 max_tokens 或输入`),
  tooDear: (row: Named): RelayFault =>
    refusalOf("tooDear", `该请求可能产生的费用超过${nameOf(row)}，请减小 max_tokens 或输入`),
} as const satisfies Readonly<Record<Refusal, (...about: never[]) => RelayFault>>;

const OF_LIMITS: ReadonlySet<unknown> = new Set([
  ...Object.values(REFUSALS).map(({ code }) => code),
  // No channel was called: where one was, clients are told what it said.
  CHANNELS_FULL,
]);

/** Whether a limit of ours, of channels too, or a balance refused the call: then it counts nowhere (requirements L07). */
export function isOfLimit(fault: RelayFault): boolean {
  return fault.upstreamStatus === 0 && (OF_LIMITS.has(fault.code) || isLack(fault));
}
