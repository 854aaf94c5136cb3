// Reminds users whose quota runs out (requirements W10.6). Settled calls only note the user's id here; every few seconds the balances
// of these users are checked together. One letter when the quota falls below the threshold and one when it is used up, each at
// most once a day.
import { formatQuota } from "#contract/quota.ts";
import { UserStatus } from "#contract/user.ts";
import { DAY_SEC } from "#server/clock.ts";
import {
  findBalances,
  findReminders,
  moveReminder,
  type ReminderRow,
  type UserBalance,
} from "#server/store/reminders.ts";
import type { Tools } from "#server/tools.ts";
import { quotaLetter } from "./letters.ts";
import { type Mailer, siteUrl } from "./mailer.ts";

export interface Reminders {
  /** Checks the users who were charged since the last check. */
  sweep(): Promise<void>;
  close(): void;
}

export type ReminderTools = Pick<Tools, "db" | "clock" | "options" | "events" | "coord" | "config"> & {
  readonly mailer: Mailer;
};

const SWEEP_MS = 5_000;
/** Users checked in one query. */
const BATCH = 500;

const Level = { enough: 0, low: 1, empty: 2 } as const;

export function createReminders(tools: ReminderTools): Reminders {
  /** User id → charges since the last check. */
  let charged = new Map<number, number>();
  const note = (userId: number, quota: number) => charged.set(userId, (charged.get(userId) ?? 0) + quota);
  const stopCharges = tools.events.onCharged(note);
  // A top-up is no charge, but may end a shortage.
  const stopUsers = tools.coord.subscribe("users", (id) => {
    if (/^[1-9]\d*$/.test(id)) note(Number(id), 0);
  });

  async function sweep(): Promise<void> {
    const costs = charged;
    charged = new Map();
    const ids = [...costs.keys()];
    for (let at = 0; at < ids.length; at += BATCH) {
      try {
        await look(tools, costs, ids.slice(at, at + BATCH));
      } catch (error) {
        // Some of these users will not be charged again: their quota is used up.
        for (const id of ids.slice(at)) note(id, costs.get(id) ?? 0);
        throw error;
      }
    }
  }

  const timer = setInterval(() => {
    if (charged.size === 0) return;
    sweep().catch((error: unknown) => tools.events.backgroundFailed({ task: "quota reminders", error }));
  }, SWEEP_MS).unref();

  return {
    sweep,
    close() {
      clearInterval(timer);
      stopCharges();
      stopUsers();
    },
  };
}

async function look(
  tools: ReminderTools,
  costs: ReadonlyMap<number, number>,
  ids: readonly number[],
): Promise<void> {
  const known = new Map((await findReminders(tools.db, ids)).map((row) => [row.user_id, row]));
  for (const balance of await findBalances(tools.db, ids)) {
    await judge(tools, balance, { cost: costs.get(balance.id) ?? 0, row: known.get(balance.id) });
  }
}

/** Compares a balance with the last one, stores the state, and sends a letter when it crossed a limit downwards. */
async function judge(
  tools: ReminderTools,
  user: UserBalance,
  before: { cost: number; row: ReminderRow | undefined },
): Promise<void> {
  const threshold = tools.options.get("QuotaRemindThreshold");
  const levelOf = (quota: number) =>
    quota <= 0 ? Level.empty : quota < threshold ? Level.low : Level.enough;
  const level = levelOf(user.quota);
  const { row } = before;
  // For a user seen for the first time, the former balance is the present one plus the charges.
  const from = row?.level ?? levelOf(user.quota + before.cost);
  if (row && level === row.level) return;
  const nowSec = tools.clock.seconds();
  const sentAt = (level === Level.empty ? row?.empty_sent_at : row?.low_sent_at) ?? 0;
  // A letter dated in the future was sent while the clock was wrong (requirements F08).
  const isDue = level > from && Math.abs(nowSec - sentAt) >= DAY_SEC;
  const hasMoved = await moveReminder(tools.db, {
    userId: user.id,
    from: row?.level,
    to: level,
    sent: isDue ? (level === Level.empty ? { empty_sent_at: nowSec } : { low_sent_at: nowSec }) : {},
  });
  // Another node was faster.
  if (!hasMoved || !isDue) return;
  if (user.email === "" || user.status !== UserStatus.enabled || !tools.mailer.isReady()) return;
  await remind(tools, user, level === Level.empty);
}

async function remind(tools: ReminderTools, user: UserBalance, isEmpty: boolean): Promise<void> {
  const { options } = tools;
  const display = {
    quotaPerUnit: options.get("QuotaPerUnit"),
    inCurrency: options.get("DisplayInCurrencyEnabled"),
  };
  const letter = quotaLetter(options.get("SystemName"), {
    isEmpty,
    remaining: formatQuota(user.quota, display, 6),
    topUpUrl: `${siteUrl(tools)}/topup`,
  });
  // Not awaited: one slow mail server must not hold up the other balances.
  void tools.mailer.post(user.email, letter);
}
