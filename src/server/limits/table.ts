// Every limit of how often something may happen: its name (the label of the counter `tollgate_rate_limited_total`), its key, its burst and
// window, what it is counted for, and its message to the user. All are counted by limits.ts.
import { limitKey } from "#server/address.ts";

/** What is counted: an address (of IPv6 its /64), an account, a mailbox, a key of a client, or all of the server together. */
type Scope = "address" | "account" | "mailbox" | "token" | "server";

export interface Limit {
  readonly name: string;
  /** The prefix of the keys that are counted. */
  readonly key: string;
  /**
   * Events that may come at once; refilled evenly over the window, so that in any period at most burst + burst × period ÷ window pass:
   * nearly twice the burst in one window. 0 = no limit.
   */
  readonly burst: number;
  readonly windowMs: number;
  readonly scope: Scope;
  /** Why there is a wait, for the user; absent = the family's empty 429. */
  readonly reason?: string;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Set by the operator. */
const BY_OPERATOR = { burst: 0, windowMs: MINUTE_MS } as const;

const LOGIN = "密码错误次数过多";
const CODES = "连续输错的码过多，为防止有人猜码，暂停兑换";
const FACTOR = "验证码错误次数过多";
const MAIL = "邮件发送过于频繁";

export const LIMITS = {
  /** The family's three, by the environment (docs/operations.md). */
  web: { name: "web", key: "rate:web:", ...BY_OPERATOR, scope: "address" },
  api: { name: "api", key: "rate:api:", ...BY_OPERATOR, scope: "address" },
  critical: { name: "critical", key: "rate:critical:", ...BY_OPERATOR, scope: "address" },

  /** Calls that a token or a user starts, and has running at once; set by options. */
  tokenCalls: { name: "relay_rate", key: "relay token ", ...BY_OPERATOR, scope: "token" },
  userCalls: { name: "relay_rate", key: "relay user ", ...BY_OPERATOR, scope: "account" },
  tokenRunning: { name: "relay_running", key: "relay token ", ...BY_OPERATOR, scope: "token" },
  userRunning: { name: "relay_running", key: "relay user ", ...BY_OPERATOR, scope: "account" },

  /** What operators and owners set for tokens, users, groups and models, by the id of each limit (store/limits.ts). */
  setCalls: { name: "set_calls", key: "limit calls ", ...BY_OPERATOR, scope: "account" },
  setTokens: { name: "set_tokens", key: "limit tokens ", ...BY_OPERATOR, scope: "account" },
  setRunning: { name: "set_running", key: "limit running ", ...BY_OPERATOR, scope: "account" },

  /** What channels and their keys may be used for, by the id of each limit (store/channel-limits.ts). */
  channelCalls: { name: "channel_calls", key: "channel calls ", ...BY_OPERATOR, scope: "server" },
  channelTokens: { name: "channel_tokens", key: "channel tokens ", ...BY_OPERATOR, scope: "server" },
  channelRunning: { name: "channel_running", key: "channel running ", ...BY_OPERATOR, scope: "server" },

  /** What a key reads of itself. */
  ownKey: { name: "own_key", key: "rate:own-key:", burst: 30, windowMs: MINUTE_MS, scope: "account" },
  /** Keys that match no token; counted by each process. A key is looked up before it is counted, so the one that empties the budget was too. */
  unknownKey: { name: "unknown_key", key: "", burst: 60, windowMs: MINUTE_MS, scope: "address" },
  /** Rows of the log about calls that failed; counted by each process. */
  failedCalls: { name: "failed_calls", key: "", burst: 60, windowMs: MINUTE_MS, scope: "account" },

  /** Wrong passwords: at most 8 in any 15 minutes for an account, at most 49 from an address, which many users may share. */
  loginAccount: {
    name: "login",
    key: "login:account:",
    burst: 5,
    windowMs: 20 * MINUTE_MS,
    scope: "account",
    reason: LOGIN,
  },
  loginAddress: {
    name: "login",
    key: "login:address:",
    burst: 40,
    windowMs: 64 * MINUTE_MS,
    scope: "address",
    reason: LOGIN,
  },

  /** Wrong second factors, behind a right password: at most 5 in any 15 minutes for an account, then fewer and fewer. */
  factor: {
    name: "factor",
    key: "factor:",
    burst: 3,
    windowMs: 23 * MINUTE_MS,
    scope: "account",
    reason: FACTOR,
  },
  factorDay: {
    name: "factor",
    key: "factor:day:",
    burst: 12,
    windowMs: 24 * HOUR_MS,
    scope: "account",
    reason: FACTOR,
  },

  /** Letters about logins from new browsers. */
  deviceLetter: {
    name: "device_letter",
    key: "letter:device:",
    burst: 1,
    windowMs: 10 * MINUTE_MS,
    scope: "account",
  },

  /** Wrong redemption and gift codes, which are money: at most 8 in any hour for an account, at most 70 from an address. */
  redeemAccount: {
    name: "redeem",
    key: "redeem:user:",
    burst: 5,
    windowMs: 80 * MINUTE_MS,
    scope: "account",
    reason: CODES,
  },
  redeemAddress: {
    name: "redeem",
    key: "redeem:address:",
    burst: 40,
    windowMs: 80 * MINUTE_MS,
    scope: "address",
    reason: CODES,
  },

  /** Orders that a user makes or cancels: each asks a provider (requirements Y42). */
  payCreate: {
    name: "payment",
    key: "pay:user:",
    burst: 20,
    windowMs: 10 * MINUTE_MS,
    scope: "account",
    reason: "下单过于频繁",
  },
  /** Notices of payment providers, which come in bursts from a few addresses; and of callers that pretend to be one. */
  payCallback: {
    name: "payment_notice",
    key: "pay:notice:",
    burst: 600,
    windowMs: MINUTE_MS,
    scope: "address",
  },

  /** Logouts that login providers tell of: one for each person who leaves, all from a few addresses. */
  providerLogout: {
    name: "provider_logout",
    key: "provider:logout:",
    burst: 600,
    windowMs: MINUTE_MS,
    scope: "address",
  },

  /** Wrong codes of WeChat, from all clients together: the operator's WeChat server checks them. */
  wechat: {
    name: "wechat",
    key: "wechat:wrong",
    burst: 30,
    windowMs: MINUTE_MS,
    scope: "server",
    reason: "微信验证码错误次数过多",
  },

  /** Mail that visitors can cause: at most 10 letters in any hour from a network, 12 to a mailbox, 1,000 in all. */
  mailNetwork: {
    name: "mail",
    key: "mail:network:",
    burst: 7,
    windowMs: 140 * MINUTE_MS,
    scope: "address",
    reason: MAIL,
  },
  /** One letter to an address in the seconds that the console counts down before it offers another. */
  mailAgain: {
    name: "mail",
    key: "mail:again:",
    burst: 1,
    windowMs: 30 * SECOND_MS,
    scope: "mailbox",
    reason: MAIL,
  },
  mailMailbox: {
    name: "mail",
    key: "mail:address:",
    burst: 2,
    windowMs: 11 * MINUTE_MS,
    scope: "mailbox",
    reason: MAIL,
  },
  mailServer: {
    name: "mail",
    key: "mail:server",
    burst: 500,
    windowMs: HOUR_MS,
    scope: "server",
    reason: MAIL,
  },

  /** Calls that open sealed keys and codes; a page of a list is one. */
  reveal: {
    name: "reveal",
    key: "reveal:",
    burst: 60,
    windowMs: MINUTE_MS,
    scope: "account",
    reason: "查看密钥过于频繁",
  },
} as const satisfies Record<string, Limit>;

/** The message for a user who has to wait; "" = none (the family's empty answer). Unit: ms. */
export function waitText({ reason }: Limit, waitMs: number): string {
  if (reason === undefined) return "";
  const wait =
    waitMs < MINUTE_MS ? `${Math.ceil(waitMs / SECOND_MS)} 秒` : `${Math.ceil(waitMs / MINUTE_MS)} 分钟`;
  return `${reason}，请 ${wait}后再试`;
}

/** What is counted by a limit: `subject` is the address, or the id of what its scope names; "" where that is the server. */
export interface Counting {
  readonly limit: Limit;
  readonly subject: string;
  /** `keyOf` of the others, where the same is counted again and again; absent = it is made each time. */
  readonly key?: string;
}

/** The key that it is counted under. */
export function keyOf({ limit: { key, scope }, subject, key: known }: Counting): string {
  return known ?? key + (scope === "address" ? limitKey(subject) : subject);
}
