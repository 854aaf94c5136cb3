// The end of a team's wallet: what is in it goes to the owner, also what comes back later (requirements O06). Asked by the call that closes a
// team and by a job after it.
import type { Coord } from "#server/coord/coord.ts";
import type { Options } from "#server/options.ts";
import { randomHex } from "#server/secrets.ts";
import type { Ledger } from "./ledger.ts";
import { quotaDisplay } from "./signup.ts";

interface Parts {
  readonly ledger: Pick<Ledger, "transfer">;
  readonly options: Pick<Options, "get">;
  readonly coord: Pick<Coord, "publish">;
}

/** Sends all that a closed team's wallet has to its owner. Returns how much; what is set aside for running calls stays. */
export async function settleTeam(
  { ledger, options, coord }: Parts,
  { id, walletId, ownerId }: { readonly id: number; readonly walletId: number; readonly ownerId: number },
): Promise<bigint> {
  const moved = await ledger.transfer({
    // Given twice at once, the second finds nothing left.
    operationId: `team/${id}/${randomHex(16)}`,
    fromId: walletId,
    toId: ownerId,
    amount: null,
    actorId: ownerId,
    sent: "团队解散，转出",
    received: `团队 #${id} 解散，余额转回`,
    display: quotaDisplay(options),
  });
  if (moved.outcome !== "done") return 0n;
  // It may have ended a debt that calls wait for.
  await coord.publish("users", String(ownerId));
  return moved.amount;
}
