// Form values of a token ⇄ what the contract wants. Pure.
import dayjs, { type Dayjs } from "dayjs";
import { relativeTime } from "#console/base/format.ts";
import type { Tone } from "#console/ui/status-tag.tsx";
import { modelList } from "#contract/model-list.ts";
import { type Token, TokenBatch, TokenDraft, type TokenUpdate, tagsOf } from "#contract/token.ts";

/** Seconds since 1970 on the wire; -1 = never. */
export const NEVER = -1;

/** Presets of the form (requirements B5), in seconds from now. */
export const EXPIRY_PRESETS = [
  { label: "永不过期", seconds: NEVER },
  { label: "一个月后过期", seconds: 30 * 86_400 },
  { label: "一天后过期", seconds: 86_400 },
  { label: "一小时后过期", seconds: 3_600 },
  { label: "一分钟后过期", seconds: 60 },
] as const;

const SOON_SEC = 3 * 86_400;

export interface ExpiryWords {
  readonly text: string;
  readonly tone: Tone;
}

/** The expiry in relative words, which stand beside its date; a warning tone from three days before. */
export function expiryWords(expiredTime: number, nowSec: number): ExpiryWords {
  if (expiredTime === NEVER) return { text: "永不过期", tone: "idle" };
  if (expiredTime <= nowSec) return { text: `${relativeTime(expiredTime, nowSec)}已过期`, tone: "bad" };
  const text = `${relativeTime(expiredTime, nowSec)}过期`;
  return { text, tone: expiredTime - nowSec <= SOON_SEC ? "warn" : "idle" };
}

export interface TokenValues {
  readonly name: string;
  readonly remain_quota: number;
  readonly unlimited_quota: boolean;
  /** null = never. */
  readonly expires: Dayjs | null;
  readonly models: readonly string[];
  readonly subnet: string;
  /** In the order in which they are tried; none = the account's. */
  readonly groups: readonly string[];
  readonly tags: readonly string[];
  /** A note a line, `name=text`. */
  readonly notes: string;
  readonly shown_once: boolean;
  /** Of a team's tokens; 0 = none. */
  readonly project_id: number;
  /** Of new tokens with these settings. */
  readonly count: number;
}

const DEFAULT_QUOTA = 500_000;

export function valuesOf(token: Token | undefined): TokenValues {
  if (token === undefined) {
    return {
      name: "",
      remain_quota: DEFAULT_QUOTA,
      unlimited_quota: false,
      expires: null,
      models: [],
      subnet: "",
      groups: [],
      tags: [],
      notes: "",
      shown_once: false,
      project_id: 0,
      count: 1,
    };
  }
  return {
    name: token.name,
    remain_quota: token.remain_quota,
    unlimited_quota: token.unlimited_quota,
    expires: token.expired_time === NEVER ? null : dayjs.unix(token.expired_time),
    models: token.models.split(",").filter((model) => model !== ""),
    subnet: token.subnet,
    groups: token.groups,
    tags: tagsOf(token.tags),
    notes: Object.entries(token.metadata)
      .map(([name, text]) => `${name}=${text}`)
      .join("\n"),
    shown_once: token.shown_once,
    project_id: token.project_id,
    count: 1,
  };
}

/** What is sent; `remain_quota` as an integer (requirements B5). */
export function draftOf(values: TokenValues): TokenDraft {
  return {
    name: values.name,
    remain_quota: Math.trunc(values.remain_quota),
    unlimited_quota: values.unlimited_quota,
    expired_time: values.expires === null ? NEVER : values.expires.unix(),
    models: values.models.join(","),
    // As Chinese keyboards type it.
    subnet: values.subnet.replaceAll("，", ",").trim(),
    groups: [...values.groups],
    tags: values.tags.join(","),
    metadata: notesOf(values.notes),
    shown_once: values.shown_once,
    project_id: values.project_id,
  };
}

/** The notes of a text with one a line; a line without `=` is a name without a text. */
export function notesOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** What is said beside a key that was just made. */
export function onceHint({ shown_once }: Pick<Token, "shown_once">): string {
  return shown_once
    ? "密钥只显示这一次，请立即保存：关闭后无法再查看，遗失时只能轮换。"
    : "也可以之后在列表中复制。";
}

/** What is said beside a key that was just made for another user, whose list alone shows it. */
export function grantHint({ shown_once }: Pick<Token, "shown_once">): string {
  return shown_once ? onceHint({ shown_once }) : "您关闭后无法再查看；用户可在自己的令牌页面复制。";
}

/** With what the form was opened with, so that a balance that was not edited is not put back to what it was then. */
export function updateOf({ id, remain_quota }: Token, values: TokenValues): TokenUpdate {
  return { id, ...draftOf(values), original_remain_quota: remain_quota };
}

/** A day that was chosen without a time of day lasts to its end. */
export function wholeDay(day: Dayjs | null): Dayjs | null {
  return day?.isSame(day.startOf("day")) ? day.endOf("day").millisecond(0) : day;
}

/** Whether an expiry can be sent: never, or a real date. */
export function isExpiry(value: unknown): boolean {
  return value === null || (dayjs.isDayjs(value) && value.isValid());
}

export const NameRule = TokenDraft.shape.name;
export const QuotaRule = TokenDraft.shape.remain_quota;
export const CountRule = TokenBatch.shape.count;
export const TagsRule = TokenDraft.shape.tags;
export const NotesRule = TokenDraft.shape.metadata;

/** The models that can be offered: those that the list of the token names one by one, and what it lets in of those that the account may call. */
export function modelsFor(list: string, open: readonly string[]): string[] {
  const entries = list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const named = entries.filter((entry) => !entry.startsWith("!") && !entry.endsWith("*"));
  const allowed = modelList(entries);
  return [...new Set([...named, ...open])].filter((model) => allowed?.has(model) !== false);
}
