// Closes the reservations of processes that died, by the published rule (see rules.ts): charge what had been received at the
// last checkpoint, return the rest.
import type { Db } from "#server/store/db.ts";
import type { LedgerBackend } from "./backend.ts";
import type { GroupCommit } from "./group-commit.ts";
import { refsOf } from "./limit-row-codec.ts";
import type { ReserveOrder } from "./operations.ts";
import { holdsOf, partsOf } from "./row-codec.ts";
import { KEPT } from "./states.ts";

/** Reservations read at once. */
const PAGE = 1_000;

/** Finds dead processes and books what they left open. Several nodes may do it at once. Returns how many reservations it closed. */
export async function recoverDead(deps: {
  db: Db;
  backend: LedgerBackend;
  groups: GroupCommit;
  node: string;
}): Promise<{ closed: number }> {
  const { db, backend, groups, node } = deps;
  await backend.expireLeases(node);
  let closed = 0;
  for (let after = ""; ; ) {
    const orphans = await findOrphans(db, node, after);
    const outcomes = await Promise.all(
      orphans.map((orphan) =>
        groups.submit({
          kind: "recover",
          requestId: orphan.request_id,
          userId: orphan.user_id,
          tokenId: orphan.token_id,
          channelId: orphan.channel_id,
          deadNode: orphan.node,
          limits: refsOf(holdsOf(orphan.holds)),
          plans: partsOf(orphan.holds).map(({ periodId }) => periodId),
        }),
      ),
    );
    closed += outcomes.filter((outcome) => outcome.kind === "recover" && outcome.isClosed).length;
    const last = orphans.at(-1);
    if (!last || orphans.length < PAGE) return { closed };
    after = last.request_id;
  }
}

/** How often live nodes look for dead ones; with the seconds of doubt a killed process's reservations end within 5 s (requirements M12). */
const WATCH_MS = 1_000;

/** Closes what other processes leave open, soon after they are gone, and reports when the database is back. Returns the stop function. */
export function watchDead(deps: {
  ledger: { recover(): Promise<{ closed: number }> };
  events: { ledgerRecovered(event: { closed: number }): void; databaseAnswers(): void };
  onError: (error: unknown) => void;
}): () => Promise<void> {
  const { ledger, events, onError } = deps;
  let running: Promise<void> | undefined;
  let isAway = false;
  const look = async () => {
    try {
      const { closed } = await ledger.recover();
      if (isAway) events.databaseAnswers();
      isAway = false;
      if (closed > 0) events.ledgerRecovered({ closed });
    } catch (error) {
      isAway = true;
      onError(error);
    }
  };
  const timer = setInterval(() => {
    running ??= look().finally(() => {
      running = undefined;
    });
  }, WATCH_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}

/** Open reservations whose process has no lease, in the order of their ids. */
function findOrphans(db: Db, node: string, after: string) {
  return db
    .selectFrom("reservations")
    .select(["request_id", "user_id", "token_id", "channel_id", "node", "holds"])
    .where("request_id", ">", after)
    .where("node", "not in", [node, KEPT])
    .where("node", "not in", db.selectFrom("nodes").select("node"))
    .orderBy("request_id")
    .limit(PAGE)
    .execute();
}

/** What an open reservation that outlives its process holds; undefined = there is none. */
export async function findKept(
  db: Db,
  requestId: string,
): Promise<
  { parties: Pick<ReserveOrder, "userId" | "tokenId" | "limits" | "plans">; amount: bigint } | undefined
> {
  const row = await db
    .selectFrom("reservations")
    .select(["user_id", "token_id", "amount", "holds"])
    .where("request_id", "=", requestId)
    .where("node", "=", KEPT)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const limits = refsOf(holdsOf(row.holds));
  const plans = partsOf(row.holds).map(({ periodId }) => periodId);
  return {
    parties: { userId: row.user_id, tokenId: row.token_id, limits, plans },
    amount: BigInt(row.amount),
  };
}
