// Job: tells a user who has a plan that it ends in 7, 3 and 1 days, unless it goes on (requirements Y66). The note is set first, so that no
// two processes send a letter; one that is lost with its process is not sent again.
import { UserStatus } from "#contract/user.ts";
import { planLetter } from "#server/accounts/letters.ts";
import { siteUrl } from "#server/accounts/mailer.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { type EndingPeriod, listEndingPeriods, noteReminder } from "#server/store/plan-reminders.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;
const PAGE = 500;
const BEIJING_MS = 8 * HOUR_MS;

/** Days before the end, the last first. */
const STAGES = [1, 3, 7] as const;

/** Which reminder is due at a moment; 0 = none. A period that was shorter than that from the beginning needs none. Pure. Unit: seconds. */
export function stageOf(
  { starts_at, ends_at }: { readonly starts_at: number; readonly ends_at: number },
  nowSec: number,
): number {
  const stage = STAGES.find((days) => ends_at - nowSec <= days * DAY_SEC) ?? 0;
  return ends_at - starts_at > stage * DAY_SEC ? stage : 0;
}

export const planReminders: Job = {
  name: "plan-reminders",
  periodMs: () => HOUR_MS,
  async run(ctx) {
    if (!ctx.mailer.isReady()) return "no mail server";
    const nowSec = ctx.clock.seconds();
    const span = { nowSec, beforeSec: nowSec + 7 * DAY_SEC, limit: PAGE };
    let sent = 0;
    let page = await listEndingPeriods(ctx.db, { ...span, after: 0 });
    while (page.length > 0) {
      for (const period of page) if (await remind(ctx, period)) sent += 1;
      page = await listEndingPeriods(ctx.db, { ...span, after: page.at(-1)?.id ?? 0 });
    }
    return `${sent} letters`;
  },
};

async function remind(ctx: Context, period: EndingPeriod): Promise<boolean> {
  const { id, email, status, ends_at, told_days } = period;
  const nowSec = ctx.clock.seconds();
  const days = stageOf(period, nowSec);
  if (days === 0 || email === "" || status !== UserStatus.enabled) return false;
  if (told_days !== 0 && told_days <= days) return false;
  if (!(await noteReminder(ctx.db, { period_id: id, days, sent_at: nowSec }))) return false;
  const letter = planLetter(ctx.options.get("SystemName"), {
    plan: termsOf(period.terms).name,
    days: Math.ceil((ends_at - nowSec) / DAY_SEC),
    endsAt: new Date(ends_at * 1_000 + BEIJING_MS).toISOString().slice(0, 16).replace("T", " "),
    url: `${siteUrl(ctx)}/subscription`,
  });
  // Not awaited: one slow mail server must not hold up the others.
  void ctx.mailer.post(email, letter);
  return true;
}
