// The checker's part for plans: what each period and each of its windows has counted against the ledger and the open reservations, and the
// parts of calls against their sum. Reads only; it reads all calls that plans paid for: not for every minute.
import { sql } from "kysely";
import type { Db } from "#server/store/db.ts";
import { termsOf, windowsOf } from "./plan-row-codec.ts";
import type { PlanPart } from "./plan-rows.ts";
import { partsOf } from "./row-codec.ts";
import type { Mismatch } from "./rows.ts";

/** Rows read at once. */
const PAGE = 2_000;

interface Counted {
  spent: bigint;
  held: bigint;
}

/** Of periods by their id, of windows by `windowKey`. */
class Counts {
  readonly #counts = new Map<string, Counted>();

  of(key: string): Counted {
    const known = this.#counts.get(key) ?? { spent: 0n, held: 0n };
    this.#counts.set(key, known);
    return known;
  }

  add(parts: readonly PlanPart[], column: keyof Counted): void {
    for (const { periodId, amount, windows } of parts) {
      this.of(String(periodId))[column] += amount;
      for (const window of windows) this.of(windowKey(periodId, window))[column] += amount;
    }
  }
}

function windowKey(periodId: number, { kind, start }: PlanPart["windows"][number]): string {
  return `${periodId} ${kind} ${start}`;
}

/** Checks all periods and their windows against every call that was counted in them. */
export async function checkPlans(db: Db): Promise<Mismatch[]> {
  const counts = new Counts();
  const open = db.selectFrom("reservations").select("holds").where("plan_amount", "!=", 0);
  for (const { holds } of await open.execute()) counts.add(partsOf(holds), "held");
  for (let after: number | undefined = 0; after !== undefined; ) after = await addBooked(db, counts, after);
  return [...(await checkSums(db)), ...(await checkPeriods(db, counts))];
}

/** Adds a page of booked parts. Returns the last id; undefined = there was none. */
async function addBooked(db: Db, counts: Counts, after: number): Promise<number | undefined> {
  const rows = await db
    .selectFrom("ledger")
    .select(["id", "holds"])
    .where("id", ">", after)
    .where("kind", "=", "plan-consume")
    .orderBy("id")
    .limit(PAGE)
    .execute();
  for (const { holds } of rows) counts.add(partsOf(holds), "spent");
  return rows.at(-1)?.id;
}

/** What calls of a user say that plans paid = what the entries of the plans say. */
async function checkSums(db: Db): Promise<Mismatch[]> {
  const { rows } = await sql<{ id: number; stored: number; expected: number }>`
    SELECT user_id AS id, cast(sum(CASE WHEN kind = 'consume' THEN plan_amount ELSE 0 END) as bigint) AS stored,
      cast(sum(CASE WHEN kind = 'consume' THEN 0 ELSE plan_amount END) as bigint) AS expected
    FROM ledger WHERE plan_amount <> 0 GROUP BY user_id
    HAVING sum(CASE WHEN kind = 'consume' THEN plan_amount ELSE -plan_amount END) <> 0 ORDER BY user_id`.execute(
    db,
  );
  return rows.map((row) => ({ table: "plan_periods", column: "user", ...row }));
}

async function checkPeriods(db: Db, counts: Counts): Promise<Mismatch[]> {
  const periods = await db
    .selectFrom("plan_periods")
    .select(["id", "quota", "spent", "held", "windows", "terms"])
    .orderBy("id")
    .execute();
  return periods.flatMap((row) => {
    const whole = counts.of(String(row.id));
    const limits = new Map(termsOf(row.terms).windows.map(({ kind, quota }) => [kind, quota] as const));
    const pairs = [
      { column: "spent", stored: row.spent, expected: Number(whole.spent) },
      { column: "held", stored: row.held, expected: Number(whole.held) },
      // Never more than was sold.
      { column: "quota", stored: row.quota, expected: Math.max(row.quota, row.spent + row.held) },
      ...windowsOf(row.windows).flatMap((window) => {
        const { spent, held } = counts.of(windowKey(row.id, window));
        const used = Number(window.spent + window.held);
        const most = limits.get(window.kind) ?? used;
        return [
          { column: "window spent", stored: Number(window.spent), expected: Number(spent) },
          { column: "window held", stored: Number(window.held), expected: Number(held) },
          { column: "window quota", stored: used, expected: Math.min(used, most) },
        ];
      }),
    ];
    const about = { table: "plan_periods", id: row.id } as const;
    return pairs.flatMap((pair) => (pair.stored === pair.expected ? [] : [{ ...about, ...pair }]));
  });
}
