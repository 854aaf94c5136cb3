// The names of user groups wherever a row has one. They are texts everywhere, so that a log of last year still says what was.
import { sql } from "kysely";
import { type Db, isPostgres } from "./db.ts";
import { lockRows } from "./row-locks.ts";

interface Renaming {
  readonly from: string;
  readonly to: string;
}

/** Whether any account or channel has this group, in whatever state. */
export async function isGroupUsed(db: Db, name: string): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("group", "=", name)
    .limit(1)
    .executeTakeFirst();
  if (user !== undefined) return true;
  const channels = await db.selectFrom("channels").select(["id", "group"]).execute();
  return channels.some(({ group }) => partsOf(group).includes(name));
}

/**
 * Locks the accounts whose rows, tokens or periods may name the group, in the order in which the ledger locks them: what it has read of
 * their plans is not written over the new name.
 */
async function lockAccounts(db: Db, from: string): Promise<void> {
  const periods = await db
    .selectFrom("plan_periods")
    .select("user_id")
    .where("terms", "like", `%${quoted(from)}%`)
    .execute();
  const users = await db.selectFrom("users").select("id").where("group", "=", from).execute();
  const ids = [...new Set([...periods.map(({ user_id }) => user_id), ...users.map(({ id }) => id)])];
  await lockRows(db, "users", ids);
}

/** Key of the advisory lock below; any constant that no other lock has. */
const RENAMING_LOCK = 7_260_551_206;

/**
 * Renames a group in every row that names it, in the transaction `tx`. Returns how many of each did. One renaming at a time: what another one
 * moves into the group meanwhile would be locked behind the rest, out of order.
 */
export async function renameGroup(tx: Db, renaming: Renaming) {
  if (isPostgres(tx)) await sql`SELECT pg_advisory_xact_lock(${RENAMING_LOCK})`.execute(tx);
  await lockAccounts(tx, renaming.from);
  const { from, to } = renaming;
  const users = await tx.updateTable("users").set({ group: to }).where("group", "=", from).executeTakeFirst();
  const tokens = await renameIn(tx, "tokens", "groups", renaming);
  const channels = await renameIn(tx, "channels", "group", renaming);
  const limited = tx.selectFrom("limits").select("id").where("subject", "in", ["member", "group"]);
  const limitIds = await limited.where("subject_name", "=", from).execute();
  await lockRows(
    tx,
    "limits",
    limitIds.map(({ id }) => id),
  );
  const limits = await tx
    .updateTable("limits")
    .set({ subject_name: to })
    .where("subject", "in", ["member", "group"])
    .where("subject_name", "=", from)
    .executeTakeFirst();
  await tx.updateTable("identities").set({ granted_group: to }).where("granted_group", "=", from).execute();
  await tx.updateTable("mail_domains").set({ group: to }).where("group", "=", from).execute();
  await renameInRules(tx, renaming);
  const plans = await renameInTerms(tx, renaming);
  return {
    users: Number(users.numUpdatedRows),
    channels,
    tokens,
    limits: Number(limits.numUpdatedRows),
    plans,
  };
}

/** Lists of names with commas between them. */
async function renameIn(
  tx: Db,
  table: "tokens" | "channels",
  column: "groups" | "group",
  { from, to }: Renaming,
): Promise<number> {
  const rows = await (table === "tokens"
    ? tx
        .selectFrom("tokens")
        .select(["id", "groups as text"])
        .where("groups", "!=", "")
        .orderBy("id")
        .execute()
    : tx.selectFrom("channels").select(["id", "group as text"]).orderBy("id").execute());
  let count = 0;
  for (const { id, text } of rows) {
    const parts = partsOf(text);
    if (!parts.includes(from)) continue;
    const next = parts.map((part) => (part === from ? to : part)).join(",");
    await tx
      .updateTable(table)
      .set({ [column]: next })
      .where("id", "=", id)
      .execute();
    count += 1;
  }
  return count;
}

/** JSON in which a plan names groups: versions, what was bought, and what open orders sell. */
async function renameInTerms(tx: Db, renaming: Renaming): Promise<number> {
  const pattern = `%${quoted(renaming.from)}%`;
  const plans = new Set<number>();
  const versions = await tx
    .selectFrom("plan_versions")
    .select(["id", "plan_id", "terms"])
    .where("terms", "like", pattern)
    .execute();
  for (const { id, plan_id, terms } of versions) {
    const next = renamedTerms(terms, renaming);
    if (next === terms) continue;
    plans.add(plan_id);
    await tx.updateTable("plan_versions").set({ terms: next }).where("id", "=", id).execute();
  }
  const periods = await tx
    .selectFrom("plan_periods")
    .select(["id", "terms"])
    .where("terms", "like", pattern)
    .orderBy("id")
    .execute();
  for (const { id, terms } of periods)
    await tx
      .updateTable("plan_periods")
      .set({ terms: renamedTerms(terms, renaming) })
      .where("id", "=", id)
      .execute();
  const orders = await tx
    .selectFrom("orders")
    .select(["order_no", "plan_sale"])
    .where("plan_sale", "like", pattern)
    .execute();
  for (const { order_no, plan_sale } of orders) {
    // Written by the ledger's orders alone.
    const sale = JSON.parse(plan_sale) as { terms: object };
    const terms: unknown = JSON.parse(renamedTerms(JSON.stringify(sale.terms), renaming));
    await tx
      .updateTable("orders")
      .set({ plan_sale: JSON.stringify({ ...sale, terms }) })
      .where("order_no", "=", order_no)
      .execute();
  }
  return plans.size;
}

function renamedTerms(text: string, { from, to }: Renaming): string {
  // Written from checked terms alone; of old ones a field may be missing.
  const terms = JSON.parse(text) as { groups?: string[]; lent_group?: string };
  const next = {
    ...terms,
    ...(terms.groups && { groups: terms.groups.map((name) => (name === from ? to : name)) }),
    ...(terms.lent_group === from && { lent_group: to }),
  };
  const changed = JSON.stringify(next);
  return changed === JSON.stringify(terms) ? text : changed;
}

/** The rules of login providers give groups. */
async function renameInRules(tx: Db, { from, to }: Renaming): Promise<void> {
  const rows = await tx
    .selectFrom("login_providers")
    .select(["id", "settings"])
    .where("settings", "like", `%${quoted(from)}%`)
    .execute();
  for (const { id, settings } of rows) {
    // Written from checked settings alone.
    const read = JSON.parse(settings) as { rules?: { group: string }[] };
    const rules = (read.rules ?? []).map((rule) => (rule.group === from ? { ...rule, group: to } : rule));
    const next = JSON.stringify({ ...read, rules });
    await tx.updateTable("login_providers").set({ settings: next }).where("id", "=", id).execute();
  }
}

function partsOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** A text as it stands in JSON, for LIKE: it may find too much, never too little. */
function quoted(name: string): string {
  return JSON.stringify(name).replaceAll("\\", "_").replaceAll("%", "_");
}
