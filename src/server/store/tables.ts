// One interface per table; column names are those of the wire. Rules live elsewhere.
import type { Generated } from "kysely";
import type { AlertTables } from "./alert-tables.ts";
import type { FactorTables } from "./factor-tables.ts";
import type { LimitTables } from "./limit-tables.ts";
import type { SignOnTables } from "./sign-on-tables.ts";
import type { AuditTables } from "./tables-audit.ts";
import type { ChannelTables } from "./tables-channels.ts";
import type { InvoiceTables } from "./tables-invoices.ts";
import type { KeyTables } from "./tables-keys.ts";
import type {
  LogRollupsTable,
  LogSpansTable,
  LogSumsTable,
  LogsTable,
  TrafficHoursTable,
} from "./tables-logs.ts";
import type { NameTables } from "./tables-names.ts";
import type { PaymentTables } from "./tables-payments.ts";
import type { PayoutTables } from "./tables-payouts.ts";
import type { PlanTables } from "./tables-plans.ts";
import type { PriceTables } from "./tables-prices.ts";
import type { StaffTables } from "./tables-staff.ts";
import type { StatementTables } from "./tables-statements.ts";
import type { TaskTables } from "./tables-tasks.ts";
import type { TeamTables } from "./team-tables.ts";

/** Balance columns (quota, used_quota, request_count, invite_commission_micro, debt_quota, commission_…) are written by `money` only. */
export interface UsersTable {
  id: Generated<number>;
  username: string;
  /** argon2id or an imported bcrypt hash; "" = no password login. */
  password: string;
  display_name: string;
  role: number;
  status: number;
  email: string;
  /** Of `email`, without its tag; "" = none, or one that another account held when this was first counted. */
  mailbox: Generated<string>;
  /** Numeric GitHub id as text; "" = not bound (requirements A16). */
  github_id: string;
  wechat_id: string;
  /** Keyed hash of the system access token; null = none. */
  access_token_hash: string | null;
  quota: Generated<number>;
  used_quota: Generated<number>;
  request_count: Generated<number>;
  group: string;
  aff_code: string;
  inviter_id: number;
  created_at: number;
  /** 1 = this super administrator chose to come in through GitHub or WeChat too (requirements A22). */
  external_login: Generated<number>;
  /** What the partner plan owes the user, in millionths of a yuan. */
  invite_commission_micro: Generated<number>;
  /** Quota that a refund or dispute took back when the balance had less; later credits pay it first. */
  debt_quota: Generated<number>;
  /** Commission that a refund took back and that was no longer there, in millionths of a yuan; later commission pays it first. */
  commission_debt_micro: Generated<number>;
  /** How many of this user's orders brought an inviter commission. */
  commission_orders: Generated<number>;
  /** The newest month in which commission was earned, `2026-11`, and how much: millionths of a yuan, what went back included. */
  commission_month: Generated<string>;
  commission_month_micro: Generated<number>;
  /** What the wallet's quota was bought for, as money/bought.ts writes it; "" = nothing is known. */
  bought: Generated<string>;
  /** 1 = no person: the wallet of a team, which the ledger books on like on any account (requirements O01). */
  is_wallet: Generated<number>;
  /** An administrator's set of permissions; 0 = none. */
  staff_set_id: Generated<number>;
  /** zh or en, as its owner chose; "" = what the browser prefers. */
  language: Generated<string>;
}

export interface SessionsTable {
  /** Hash of the cookie value; the value itself is nowhere stored (requirements A01). */
  id_hash: string;
  user_id: number;
  created_at: number;
  last_seen: number;
  /** Of the last call, and what the browser called itself at the login. */
  address: Generated<string>;
  agent: Generated<string>;
  /** How it began: password, totp, passkey, recovery, github, wechat, or a provider. */
  method: Generated<string>;
  device_hash: Generated<string>;
  /** What an outside provider calls this session; "" = none. */
  logout_key: Generated<string>;
  /** Sealed, for the provider's logout; "" = none. */
  id_token: Generated<string>;
  /** Seconds, 0 = never: when a second factor was given, when the owner was asked again, when a recovery code let in. */
  mfa_at: Generated<number>;
  stepup_at: Generated<number>;
  recovered_at: Generated<number>;
  /** 0 = none. */
  provider_id: Generated<number>;
  /** The user whose console is looked at, and until when, in seconds; 0 = one's own. */
  view_of: Generated<number>;
  view_until: Generated<number>;
}

/** A one-time code, known by the hash of what it is bound to. */
export interface CodesTable {
  /** Purpose, and the hash of the address, state or browser. */
  key: string;
  code_hash: string;
  /** The account it belongs to; 0 = none yet. */
  user_id: number;
  /** Sealed, or "". */
  detail: string;
  /** Wrong tries, or uses of a code that may be used a few times. */
  tries: Generated<number>;
  expires_at: number;
}

export interface OptionsTable {
  key: string;
  /** Sealed when the option is secret. */
  value: string;
}

/** How far a user's quota had fallen when it was last looked at, and when reminders were sent. */
export interface QuotaRemindersTable {
  user_id: number;
  /** 0 = enough, 1 = below the threshold, 2 = used up. */
  level: number;
  low_sent_at: Generated<number>;
  empty_sent_at: Generated<number>;
}

/** What is set aside for calls in flight, `holds` in windows of limits. A row lives from reserve to settle, release or recovery. */
export interface ReservationsTable {
  request_id: string;
  user_id: number;
  token_id: number;
  channel_id: number;
  amount: number;
  /** Charge of what had been received at the last checkpoint; recovery books this (requirements M12). */
  seen_charge: number;
  seen_prompt_tokens: number;
  seen_completion_tokens: number;
  model_name: string;
  created_at: number;
  /** Boot id of the process that holds it; its lease stands in `nodes`. */
  node: string;
  /** 1 = the amount is set aside from the token too (it was limited when the call came). */
  token_limited: number;
  holds: Generated<string>;
  /** What of `amount` plans have set aside; the wallet has the rest. */
  plan_amount: Generated<number>;
}

/** Processes that hold reservations. One that stops renewing its lease is dead, and its reservations are closed. */
export interface NodesTable {
  /** Boot id. */
  node: string;
  /** Seconds, by the clock of the database on PostgreSQL (requirements F08). */
  lease_until: number;
  /** 1 = it holds a session's advisory lock as long as it can reach the database; on PostgreSQL only. */
  is_locked: Generated<number>;
}

/** Codes worth quota, each used once. Deleted ones stay as rows: the ledger names their ids (requirements M08). */
export interface RedemptionsTable {
  id: Generated<number>;
  /** Who made it. */
  user_id: number;
  /** Keyed hash of the code, for look-up. */
  key_hash: string;
  /** Sealed copy for the administrators' "copy" button; "" once deleted. */
  key_sealed: string;
  /** 1 unused, 2 disabled, 3 used; nothing leaves 3. Set to 3 by `money` only. */
  status: number;
  name: string;
  quota: number;
  /** What it was sold for, in fen; 0 = it is given away, -1 = what codes are sold for (`SoldDollarYuan`). */
  price_minor: Generated<number>;
  created_time: number;
  /** Seconds; 0 = not redeemed. */
  redeemed_time: Generated<number>;
  /** Who redeemed it, with an entry in the ledger; 0 = no user, or the code was imported as used. */
  used_user_id: Generated<number>;
  /** Same for all codes made by one call that carried an idempotency key; "" = none. */
  batch: Generated<string>;
  batch_index: Generated<number>;
  /** Seconds; 0 = alive. */
  deleted_at: Generated<number>;
}

/** Append-only truth of every balance; triggers refuse UPDATE and DELETE. */
export interface LedgerTable {
  id: Generated<number>;
  created_at: number;
  /** consume, grant, adjust, topup, redeem, gift, invite, commission, commission-adjust, commission-debt, withdraw, token-adjust … */
  kind: string;
  user_id: number;
  token_id: number;
  channel_id: number;
  /** Signed change of what the user owns: negative for consumption. */
  amount: number;
  /** Signed change of what the token may spend; 0 for unlimited tokens. */
  token_amount: number;
  /** Natural key: the request id of a call, the operation id of anything else; null for imported sums. */
  request_id: string | null;
  /** Price that could not be collected because user or token had no more; 0 normally. */
  shortfall: number;
  actor_id: number;
  detail: string;
  /** The code that redeem, gift and commission come from; 0 for all else. */
  redemption_id: Generated<number>;
  /** Signed change of the commission, in millionths of a yuan; 0 for all that is about quota. */
  yuan_micro: Generated<number>;
  holds: Generated<string>;
  /** What plans paid of a call, or one of them by `plan-consume`. */
  plan_amount: Generated<number>;
  /** The period of a plan; 0 for all but `plan-consume`. */
  period_id: Generated<number>;
}

/** Sums of the ledger up to the entry that `ledger_sums_head` names, by what is checked against them. */
export interface LedgerSumsTable {
  scope: "user" | "token" | "channel";
  id: number;
  credit: number;
  spent: number;
  calls: number;
}

export interface LedgerSumsHeadTable {
  /** Always 1. */
  one: number;
  last_id: number;
}

/** Where the counters of imported rows start: what was used before they came here. Append-only. */
export interface OpeningsTable {
  scope: "user" | "token" | "channel";
  id: number;
  used_quota: number;
  /** Only users count requests. */
  request_count: number;
}

/** What a registration still has to bring; amounts in quota units. */
export interface SignupsTable {
  user_id: number;
  /** 0 = no inviter. */
  inviter_id: number;
  for_new_user: number;
  for_invitee: number;
  for_inviter: number;
}

export interface Tables
  extends AlertTables,
    AuditTables,
    ChannelTables,
    FactorTables,
    InvoiceTables,
    LimitTables,
    KeyTables,
    NameTables,
    PaymentTables,
    PayoutTables,
    PlanTables,
    PriceTables,
    SignOnTables,
    StatementTables,
    StaffTables,
    TaskTables,
    TeamTables {
  users: UsersTable;
  sessions: SessionsTable;
  codes: CodesTable;
  quota_reminders: QuotaRemindersTable;
  options: OptionsTable;
  logs: LogsTable;
  log_sums: LogSumsTable;
  log_rollups: LogRollupsTable;
  log_spans: LogSpansTable;
  traffic_hours: TrafficHoursTable;
  reservations: ReservationsTable;
  nodes: NodesTable;
  redemptions: RedemptionsTable;
  ledger: LedgerTable;
  ledger_sums: LedgerSumsTable;
  ledger_sums_head: LedgerSumsHeadTable;
  openings: OpeningsTable;
  signups: SignupsTable;
}
