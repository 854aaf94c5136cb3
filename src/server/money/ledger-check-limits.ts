// The checker's part for limits: what each window has counted against the ledger and the open reservations. Reads only.
import type { Db } from "#server/store/db.ts";
import { holdsOf } from "./row-codec.ts";
import { type Mismatch, windowKey } from "./rows.ts";

/** Rows read at once. */
const PAGE = 2_000;

interface Counted {
  spent: bigint;
  reserved: bigint;
}

/** Checks all windows against every call that was counted in them. Reads all limited calls: not for every minute. */
export async function checkLimits(db: Db, page = PAGE): Promise<Mismatch[]> {
  const expected = new Map<string, Counted>();
  await addReservations(db, expected);
  for (let after: number | undefined = 0; after !== undefined; )
    after = await addBooked(db, expected, { after, page });
  return differing(db, expected);
}

function countedOf(expected: Map<string, Counted>, key: string): Counted {
  const counted = expected.get(key) ?? { spent: 0n, reserved: 0n };
  expected.set(key, counted);
  return counted;
}

async function addReservations(db: Db, expected: Map<string, Counted>): Promise<void> {
  const open = db.selectFrom("reservations").select(["amount", "holds"]).where("holds", "!=", "");
  for (const { amount, holds } of await open.execute()) {
    for (const hold of holdsOf(holds)) {
      countedOf(expected, windowKey(hold)).reserved += hold.isCalls ? 1n : BigInt(amount);
    }
  }
}

/** Adds a page of booked calls. Returns the last id; undefined = there are no more. */
async function addBooked(
  db: Db,
  expected: Map<string, Counted>,
  { after, page }: { after: number; page: number },
): Promise<number | undefined> {
  const rows = await db
    .selectFrom("ledger")
    .select(["id", "amount", "holds"])
    .where("id", ">", after)
    .where("holds", "!=", "")
    .orderBy("id")
    .limit(page)
    .execute();
  for (const { amount, holds } of rows) {
    for (const hold of holdsOf(holds)) {
      countedOf(expected, windowKey(hold)).spent += hold.isCalls ? 1n : BigInt(-amount);
    }
  }
  return rows.length < page ? undefined : rows.at(-1)?.id;
}

async function differing(db: Db, expected: Map<string, Counted>): Promise<Mismatch[]> {
  const windows = await db
    .selectFrom("limit_windows")
    .select(["limit_id", "holder", "start", "spent", "reserved"])
    .orderBy("limit_id")
    .execute();
  return windows.flatMap((row) => {
    const key = windowKey({ limitId: row.limit_id, holder: row.holder, start: row.start });
    const { spent, reserved } = expected.get(key) ?? { spent: 0n, reserved: 0n };
    const about = { table: "limit_windows", id: row.limit_id } as const;
    const pairs = [
      { ...about, column: "spent", stored: row.spent, expected: Number(spent) },
      { ...about, column: "reserved", stored: row.reserved, expected: Number(reserved) },
    ];
    return pairs.filter((pair) => pair.stored !== pair.expected);
  });
}
