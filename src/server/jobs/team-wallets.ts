// Job: what calls that ran when their team was closed gave back goes to its owner (requirements O06).
import { settleTeam } from "#server/money/team-wallet.ts";
import { findUnsettled } from "#server/store/teams.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

export const teamWallets: Job = {
  name: "team-wallets",
  periodMs: () => MINUTE_MS,
  async run(ctx) {
    const rows = await findUnsettled(ctx.db);
    for (const row of rows)
      await settleTeam(ctx, { id: row.id, walletId: row.wallet_id, ownerId: row.owner_id });
    return `${rows.length} sent`;
  },
};
