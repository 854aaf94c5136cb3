// Form values of a token ⇄ what the contract wants. Pure.
import dayjs, { type Dayjs } from "dayjs";
import { type Token, TokenBatch, TokenDraft, type TokenUpdate } from "#contract/token.ts";
import { NEVER } from "./expiry.ts";

export interface TokenValues {
  readonly name: string;
  readonly remain_quota: number;
  readonly unlimited_quota: boolean;
  /** null = never. */
  readonly expires: Dayjs | null;
  readonly models: readonly string[];
  readonly subnet: string;
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
  };
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
