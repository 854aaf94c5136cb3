// Job: asks the upstreams of channels for their models every UpstreamModelsHours, so that what is new or gone is seen (requirements C46).
import { compareModels, isCompared } from "#server/channels/model-lists.ts";
import { listModelChecks } from "#server/store/model-lists.ts";
import type { Job } from "./job.ts";

const PERIOD_MS = 10 * 60_000;
const HOUR_SEC = 3_600;
/** So many channels of one run: with thousands of them no upstream is asked by all at once. */
const AT_ONCE = 50;

export const upstreamModels: Job = {
  name: "upstream-models",
  periodMs: () => PERIOD_MS,
  async run(ctx) {
    const everySec = ctx.options.get("UpstreamModelsHours") * HOUR_SEC;
    if (everySec === 0) return "off";
    const checks = await listModelChecks(ctx.db);
    const before = ctx.clock.seconds() - everySec;
    const lastOf = (id: number) => checks.get(id) ?? 0;
    const due = ctx.candidates
      .all()
      .filter((channel) => isCompared(channel) && lastOf(channel.id) <= before)
      .toSorted((a, b) => lastOf(a.id) - lastOf(b.id))
      .slice(0, AT_ONCE);
    for (const channel of due) {
      if (ctx.stopping.aborted) break;
      await compareModels(ctx, channel, false);
    }
    return `${due.length} asked`;
  },
};
