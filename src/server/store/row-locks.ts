// Locks of rows that calls use, taken beforehand in the order of their ids, as the ledger takes its own (users, tokens, channels, limits): an
// UPDATE of several rows promises none, and two that lock the same rows in other orders wait for each other in a circle.
import { type Db, isPostgres } from "./db.ts";
import { inParts } from "./in-parts.ts";

/** Locks rows until the transaction ends; who locks those of several tables keeps to their order above. */
export async function lockRows(
  tx: Db,
  table: "users" | "tokens" | "limits",
  ids: readonly number[],
): Promise<void> {
  // On SQLite the transaction itself has the only writer.
  if (!isPostgres(tx)) return;
  const inOrder = [...new Set(ids)].sort((a, b) => a - b);
  await inParts(inOrder, (some) =>
    tx.selectFrom(table).select("id").where("id", "in", some).orderBy("id").forNoKeyUpdate().execute(),
  );
}
