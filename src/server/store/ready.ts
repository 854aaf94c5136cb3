// Whether a database can be written to at this moment (requirements G04). The caller is answered soon, whatever the database does.
import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/** An answer later than this is no. */
const SOON_MS = 1_000;

/** An option of no name, with more than fits into the free room of a page. */
export const PROBE = { key: "", value: "x".repeat(8_192) } as const;

/** Writes to PostgreSQL and takes it back: a full disk, a lock or a read-only standby shows here. Throws: pg's error. */
export async function writeProbe(db: Kysely<Tables>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.insertInto("options").values(PROBE).execute();
    await tx.deleteFrom("options").where("key", "=", PROBE.key).execute();
  });
}

/** Asks by `probe`, one at a time: who asks meanwhile shares the answer. The result never throws. */
export function createReadiness(probe: () => Promise<unknown>): () => Promise<boolean> {
  let running: Promise<boolean> | undefined;
  const start = async () => {
    try {
      await probe();
      return true;
    } catch {
      return false;
    } finally {
      running = undefined;
    }
  };
  return async () => {
    running ??= start();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), SOON_MS);
    });
    const isReady = await Promise.race([running, late]);
    clearTimeout(timer);
    return isReady;
  };
}
