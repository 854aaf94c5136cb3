// Job: tells a user who has a plan that its renewal was refused by the bank (requirements Z21). The note is set first, so that no two
// processes send a letter.
import { UserStatus } from "#contract/user.ts";
import { renewalLetter } from "#server/accounts/letters.ts";
import { siteUrl } from "#server/accounts/mailer.ts";
import type { Context } from "#server/context.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { type FailedRenewal, listFailedRenewals, noteFailedTold } from "#server/store/plan-renewals.ts";
import { findPlanVersion } from "#server/store/plans.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 5 * 60_000;
const PAGE = 500;

export const renewalLetters: Job = {
  name: "renewal-letters",
  periodMs: () => PERIOD_MS,
  async run(ctx) {
    if (!ctx.mailer.isReady()) return "no mail server";
    let sent = 0;
    for (const renewal of await listFailedRenewals(ctx.db, PAGE)) if (await tell(ctx, renewal)) sent += 1;
    return `${sent} letters`;
  },
};

async function tell(ctx: Context, renewal: FailedRenewal): Promise<boolean> {
  const version = await findPlanVersion(ctx.db, renewal.version_id);
  if (!(await noteFailedTold(ctx.db, renewal.id))) return false;
  if (renewal.email === "" || renewal.user_status !== UserStatus.enabled || !version) return false;
  const letter = renewalLetter(ctx.options.get("SystemName"), {
    plan: termsOf(version.terms).name,
    url: `${siteUrl(ctx)}/subscription`,
  });
  // Not awaited: one slow mail server must not hold up the others.
  void ctx.mailer.post(renewal.email, letter);
  return true;
}
