// The limits of channels and their keys: rows of `limits` like those of callers, so that the ledger counts their days the same way.
import {
  type ChannelLimitName,
  type ChannelLimits,
  type ChannelLimitsChange,
  NO_CHANNEL_LIMITS,
} from "#contract/channel-limits.ts";
import type { LimitKind } from "#contract/limit-words.ts";
import type { Db } from "./db.ts";

export type ChannelSubject = "channel" | "channel_key";

/** One limit of a channel or a key. */
export interface ChannelCap {
  readonly id: number;
  readonly subject: ChannelSubject;
  readonly subjectId: number;
  readonly name: ChannelLimitName;
  readonly amount: number;
}

/** Parameters of one statement. */
const AT_ONCE = 500;
const KINDS = { rpm: "rpm", tpm: "tpm", running: "running", day_quota: "quota" } as const satisfies Record<
  ChannelLimitName,
  LimitKind
>;
const NAMES: Readonly<Partial<Record<LimitKind, ChannelLimitName>>> = {
  rpm: "rpm",
  tpm: "tpm",
  running: "running",
  quota: "day_quota",
};

function living(db: Db) {
  return db
    .selectFrom("limits")
    .select(["id", "subject", "subject_id", "kind", "amount"])
    .where("deleted_at", "=", 0)
    .orderBy("id");
}

type Row = Awaited<ReturnType<ReturnType<typeof living>["execute"]>>[number];

function capOf({ id, subject, subject_id: subjectId, kind, amount }: Row): ChannelCap[] {
  const name = NAMES[kind];
  if (name === undefined || (subject !== "channel" && subject !== "channel_key")) return [];
  return [{ id, subject, subjectId, name, amount }];
}

/** Those of all channels and keys. */
export async function listChannelCaps(db: Db): Promise<ChannelCap[]> {
  const rows = await living(db).where("subject", "in", ["channel", "channel_key"]).execute();
  return rows.flatMap(capOf);
}

/** Those of some channels or keys, by their ids; one without any is not among them. */
export async function findChannelLimits(
  db: Db,
  subject: ChannelSubject,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ChannelLimits>> {
  const found = new Map<number, ChannelLimits>();
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const some = ids.slice(start, start + AT_ONCE);
    const rows = await living(db).where("subject", "=", subject).where("subject_id", "in", some).execute();
    for (const { subjectId, name, amount } of rows.flatMap(capOf))
      found.set(subjectId, { ...(found.get(subjectId) ?? NO_CHANNEL_LIMITS), [name]: amount });
  }
  return found;
}

/** Sets the limits that are named, of channels or keys; 0 removes one. In a transaction. Unit of `now`: seconds. */
export async function setChannelLimits(
  db: Db,
  { subject, ids }: { readonly subject: ChannelSubject; readonly ids: readonly number[] },
  limits: ChannelLimitsChange,
  now: number,
): Promise<void> {
  for (const [name, kind] of Object.entries(KINDS)) {
    const amount = limits[name as ChannelLimitName]; // a key of KINDS
    if (amount === undefined) continue;
    for (let start = 0; start < ids.length; start += AT_ONCE)
      await setOne(db, { subject, ids: ids.slice(start, start + AT_ONCE) }, { kind, amount }, now);
  }
}

async function setOne(
  db: Db,
  { subject, ids }: { subject: ChannelSubject; ids: readonly number[] },
  { kind, amount }: { kind: LimitKind; amount: number },
  now: number,
): Promise<void> {
  const changed = await db
    .updateTable("limits")
    .set(amount === 0 ? { deleted_at: now } : { amount })
    .where("subject", "=", subject)
    .where("subject_id", "in", ids)
    .where("kind", "=", kind)
    .where("deleted_at", "=", 0)
    .returning("subject_id")
    .execute();
  if (amount === 0) return;
  const known = new Set(changed.map((row) => row.subject_id));
  const fresh = ids.filter((id) => !known.has(id));
  if (fresh.length === 0) return;
  const rows = fresh.map((id) => ({
    subject,
    subject_id: id,
    subject_name: "",
    model_pattern: "",
    kind,
    amount,
    time_window: "day" as const,
    anchor: 1,
    // In the ledger it ends no answer that has begun; calls that have not are refused (money/rules-limits.ts).
    mode: "soft" as const,
    since: now,
    created_at: now,
  }));
  for (let start = 0; start < rows.length; start += AT_ONCE / 10)
    await db
      .insertInto("limits")
      .values(rows.slice(start, start + AT_ONCE / 10))
      .execute();
}

/** Copies the limits of a channel to another. In a transaction. */
export async function copyChannelLimits(
  db: Db,
  { from, to }: { from: number; to: number },
  now: number,
): Promise<void> {
  const limits = (await findChannelLimits(db, "channel", [from])).get(from);
  if (limits !== undefined) await setChannelLimits(db, { subject: "channel", ids: [to] }, limits, now);
  await copyKeyLimits(db, { from, to }, now);
}

/** Those of its keys, each to the same key of the copy; of keys with the same limits together. */
async function copyKeyLimits(db: Db, { from, to }: { from: number; to: number }, now: number): Promise<void> {
  const pairs = await db
    .selectFrom("channel_keys as old")
    .innerJoin("channel_keys as copy", "copy.key_hash", "old.key_hash")
    .select(["old.id as id", "copy.id as copy_id"])
    .where("old.channel_id", "=", from)
    .where("copy.channel_id", "=", to)
    .execute();
  const found = await findChannelLimits(
    db,
    "channel_key",
    pairs.map(({ id }) => id),
  );
  const alike = Map.groupBy(
    pairs.filter(({ id }) => found.has(id)),
    ({ id }) => JSON.stringify(found.get(id)),
  );
  for (const some of alike.values()) {
    const limits = found.get(some[0]?.id ?? 0) ?? NO_CHANNEL_LIMITS;
    const ids = some.map(({ copy_id }) => copy_id);
    await setChannelLimits(db, { subject: "channel_key", ids }, limits, now);
  }
}
