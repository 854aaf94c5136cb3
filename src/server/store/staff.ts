// Sets of permissions, and who has them.
import type { Selectable } from "kysely";
import { Role, UserStatus } from "#contract/user.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { StaffSetsTable } from "./tables-staff.ts";

export type StaffSetRow = Selectable<StaffSetsTable>;

/** All sets, the oldest first. */
export function listStaffSets(db: Db): Promise<StaffSetRow[]> {
  return db.selectFrom("staff_sets").selectAll().orderBy("id").execute();
}

export function findStaffSet(db: Db, id: number): Promise<StaffSetRow | undefined> {
  return db.selectFrom("staff_sets").selectAll().where("id", "=", id).executeTakeFirst();
}

type Content = Pick<StaffSetRow, "name" | "permissions">;

/** Returns the id. Throws: an error that `isTaken` recognises when there is a set of this name. */
export async function insertStaffSet(tx: Db, set: Content, now: number): Promise<number> {
  const row = { ...set, created_at: now, updated_at: now };
  const { id } = await tx.insertInto("staff_sets").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** Changes a set that did not come with the program. Returns whether there was one. Throws: as `insertStaffSet`. */
export function updateStaffSet(tx: Db, id: number, set: Content, now: number): Promise<boolean> {
  const update = tx.updateTable("staff_sets").set({ ...set, updated_at: now });
  return changesOne(update.where("id", "=", id).where("is_built_in", "=", 0));
}

/** Removes a set that did not come with the program and that no administrator has. Returns whether there was one. */
export async function removeStaffSet(tx: Db, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom("staff_sets")
    .where("id", "=", id)
    .where("is_built_in", "=", 0)
    .where((where) =>
      where.not(
        where.exists(where.selectFrom("users").select("users.id").where("users.staff_set_id", "=", id)),
      ),
    )
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** How many accounts that are not deleted have each set. */
export async function countStaff(db: Db): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom("users")
    .select(["staff_set_id", (count) => count.fn.countAll().as("members")])
    .where("staff_set_id", "<>", 0)
    .where("status", "<>", UserStatus.deleted)
    .groupBy("staff_set_id")
    .execute();
  return new Map(rows.map(({ staff_set_id, members }) => [staff_set_id, Number(members)]));
}

/** Gives an administrator a set, 0 for none. Returns whether the account still is one. */
export function assignStaffSet(tx: Db, userId: number, setId: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("users")
      .set({ staff_set_id: setId })
      .where("id", "=", userId)
      .where("role", "=", Role.admin)
      .where("status", "<>", UserStatus.deleted),
  );
}
