// Job: tells that a model's last day comes, a month, a week and a day before (requirements X12): operators by an alert, and those who
// called it in the last 30 days by letter where the operator wants that. Each stage once; the mark is set first.
import { dayOf } from "#contract/month.ts";
import { UserStatus } from "#contract/user.ts";
import { endingLetter } from "#server/accounts/letters.ts";
import { siteUrl } from "#server/accounts/mailer.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { claimModelNotice, findCallers } from "#server/store/model-notices.ts";
import type { Job } from "./job.ts";

const HOUR_MS = 3_600_000;
/** Days before the last one, the nearest first. */
const STAGES = [1, 7, 30] as const;
const CALLED_DAYS = 30;

export const modelEndings: Job = {
  name: "model-endings",
  periodMs: () => HOUR_MS,
  firstMs: 60_000,
  async run(ctx) {
    const lastDays = Object.entries(ctx.options.get("ModelLastDays"));
    if (lastDays.length === 0) return "no model ends";
    const offered = new Set(
      ctx.candidates.all().flatMap(({ models, mapping }) => [...models, ...mapping.keys()]),
    );
    let told = 0;
    for (const [model, lastDay] of lastDays) {
      if (!offered.has(model) || ctx.stopping.aborted) continue;
      const stage = stageOf(ctx, lastDay);
      if (stage !== undefined && (await tell(ctx, { model, lastDay, stage }))) told += 1;
    }
    return `${told} told`;
  },
};

/** How near the last day is; undefined = not yet, or over. Days are those of the site's month. */
function stageOf({ clock }: Context, lastDay: string): (typeof STAGES)[number] | undefined {
  const today = dayOf(clock.seconds());
  const left = (Date.parse(lastDay) - Date.parse(today)) / (DAY_SEC * 1_000);
  return left < 0 ? undefined : STAGES.find((stage) => left <= stage);
}

interface Ending {
  readonly model: string;
  readonly lastDay: string;
  readonly stage: number;
}

async function tell(ctx: Context, { model, lastDay, stage }: Ending): Promise<boolean> {
  const nowSec = ctx.clock.seconds();
  const isOurs = await claimModelNotice(ctx.db, { model, last_day: lastDay, stage, told_at: nowSec });
  if (!isOurs) return false;
  ctx.notify({
    event: "model_ending",
    about: `model ${model} ${lastDay} ${stage}`,
    title: `模型 ${model} 将停用`,
    content: `最后可用的一天是 ${lastDay}。过后模型广场不再列出，调用仍按渠道进行。`,
  });
  if (!ctx.options.get("ModelEndingLettersEnabled") || !ctx.mailer.isReady()) return true;
  const callers = await findCallers(ctx.db, model, nowSec - CALLED_DAYS * DAY_SEC, UserStatus.enabled);
  const letter = endingLetter(ctx.options.get("SystemName"), {
    model,
    lastDay,
    url: `${siteUrl(ctx)}/models`,
  });
  for (const address of callers) {
    if (ctx.stopping.aborted) return true;
    // One after the other: the mailer keeps no more than so many.
    await ctx.mailer.post(address, letter);
  }
  return true;
}
