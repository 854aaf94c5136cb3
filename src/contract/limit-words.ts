// The words of limits, as data and types: what is limited, for whom, over which time. Without schemas, since the ledger's rules need them.

/**
 * Whose calls are counted: of a token, of a member of a team, of a project of a team, of a team, of a user, of each user of a group by himself, of all users of a
 * group together, of everybody. The first that has no room is named. Of a channel and of one of its keys all calls that go there are counted.
 */
export const LIMIT_SUBJECTS = [
  "token",
  "seat",
  "project",
  "team",
  "user",
  "member",
  "group",
  "all",
  "channel",
  "channel_key",
] as const;
export type LimitSubject = (typeof LIMIT_SUBJECTS)[number];

/** Set with what they belong to: a token, a team, a channel; all others by themselves, by administrators. */
export const OWNED_SUBJECTS = [
  "token",
  "seat",
  "project",
  "team",
  "channel",
  "channel_key",
] as const satisfies readonly LimitSubject[];
export type ManagedSubject = Exclude<LimitSubject, (typeof OWNED_SUBJECTS)[number]>;

export function isManaged(subject: LimitSubject): subject is ManagedSubject {
  return !(OWNED_SUBJECTS as readonly LimitSubject[]).includes(subject); // wider than its literals
}

/**
 * What is limited: calls, tokens in all, of input and of output per minute; calls that run at once; what one call may cost; quota and
 * calls of a window.
 */
export const LIMIT_KINDS = [
  "rpm",
  "tpm",
  "input_tpm",
  "output_tpm",
  "running",
  "cost",
  "quota",
  "calls",
] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** Kinds that are counted by window, in the ledger. */
export const WINDOW_KINDS = ["quota", "calls"] as const satisfies readonly LimitKind[];
export type WindowKind = (typeof WINDOW_KINDS)[number];

export function isWindowKind(kind: LimitKind): kind is WindowKind {
  return kind === "quota" || kind === "calls";
}

/** Kinds that are counted by the minute: a new kind is one of them, unless it is named here or among the windows. */
export type RateKind = Exclude<LimitKind, WindowKind | "running" | "cost">;

export function isRateKind(kind: LimitKind): kind is RateKind {
  return !isWindowKind(kind) && kind !== "running" && kind !== "cost";
}

/**
 * `session` is five hours from the first call on; days, weeks (from Monday) and months follow the calendar of BudgetTimeZone; a rolling
 * window always looks back; `total` never ends.
 */
export const LIMIT_WINDOWS = [
  "session",
  "day",
  "week",
  "month",
  "rolling_5h",
  "rolling_day",
  "rolling_week",
  "rolling_month",
  "total",
] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

export type CalendarWindow = Extract<LimitWindow, "day" | "week" | "month">;

export function isCalendar(window: LimitWindow): window is CalendarWindow {
  return window === "day" || window === "week" || window === "month";
}

/** The windows in words, as the console and letters name them. */
export const LIMIT_WINDOW_LABELS: Readonly<Record<LimitWindow, string>> = {
  session: "5 小时（从首次调用起）",
  day: "每日",
  week: "每周（周一起）",
  month: "每月",
  rolling_5h: "最近 5 小时",
  rolling_day: "最近 24 小时",
  rolling_week: "最近 7 天",
  rolling_month: "最近 30 天",
  total: "总计（不重置）",
};

/** `soft` limits only warn; `clamp` lowers what a call may put out to what the limit of its cost allows. */
export const LIMIT_MODES = ["hard", "soft", "clamp"] as const;
export type LimitMode = (typeof LIMIT_MODES)[number];

/** Whether a model is meant by a pattern: its name, a beginning with `*` behind, or "" for all. Compared as it is written. */
export function isModelOf(pattern: string, model: string): boolean {
  if (pattern === "" || pattern === "*") return true;
  return pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

/** A member's limit of the group is counted by user; all others once. */
export function holderOf(subject: LimitSubject, userId: number): number {
  return subject === "member" ? userId : 0;
}
