// Handlers: sets of permissions, and who has which (requirements Z15, Z16, Z17). What a permission opens is data of the contract.
import type { z } from "zod";
import { BUILT_IN_SETS, type StaffSet, type StaffSetDraft, type staffApi } from "#contract/staff.ts";
import { isStaff, isSuper } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  assignStaffSet,
  countStaff,
  findStaffSet,
  insertStaffSet,
  listStaffSets,
  removeStaffSet,
  type StaffSetRow,
  updateStaffSet,
} from "#server/store/staff.ts";
import { revokeAccess } from "#server/store/user-acts.ts";
import { findUserById } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { subject } from "./user-admin.ts";

export const staff: Handlers<{ staff: typeof staffApi }>["staff"] = {
  async list({ db }, { language }) {
    const counts = await countStaff(db);
    return (await listStaffSets(db)).map((row) => {
      const name = BUILT_IN_SETS.includes(row.name) ? say(row.name, language) : row.name;
      return present({ ...row, name }, counts);
    });
  },

  async create(ctx, call) {
    const content = contentOf(call.body);
    const id = await naming(() =>
      ctx.db.transaction().execute(async (tx) => {
        const made = await insertStaffSet(tx, content, ctx.clock.seconds());
        await audit(ctx, tx, call, { action: "staff.create", target: made, detail: listed(content) });
        return made;
      }),
    );
    return presentOne(ctx, id);
  },

  async update(ctx, call) {
    const before = await getSet(ctx, call.params.id);
    const content = contentOf(call.body);
    await naming(() =>
      ctx.db.transaction().execute(async (tx) => {
        if (!(await updateStaffSet(tx, before.id, content, ctx.clock.seconds())))
          throw faults.refused("内置的权限集不能修改，请另建一个");
        const { name } = content;
        const detail = { name, ...changeOf(listed(before).permissions, listed(content).permissions) };
        await audit(ctx, tx, call, { action: "staff.update", target: before.id, detail, before });
      }),
    );
    // Every actor is read again: one of them may have this set.
    await ctx.coord.publish("users", "");
    return presentOne(ctx, before.id);
  },

  async remove(ctx, call) {
    const before = await getSet(ctx, call.params.id);
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await removeStaffSet(tx, before.id)))
        throw faults.refused("内置的、或还有管理员使用的权限集不能删除");
      const detail = listed(before);
      await audit(ctx, tx, call, { action: "staff.delete", target: before.id, detail });
    });
    return null;
  },

  async assign(ctx, call) {
    const target = subject(call.actor, await findUserById(ctx.db, call.params.id));
    if (!isStaff(target) || isSuper(target)) throw faults.refused("只有管理员可以有权限集");
    const { staff_set_id } = call.body;
    if (staff_set_id !== 0) await getSet(ctx, staff_set_id);
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await assignStaffSet(tx, target.id, staff_set_id)))
        throw faults.refused("该用户刚被修改，请刷新后重试");
      await revokeAccess(tx, target.id, undefined);
      const detail = { username: target.username, staff_set_id };
      await audit(ctx, tx, call, { action: "user.staff_set", target: target.id, detail, before: target });
    });
    await ctx.coord.publish("users", String(target.id));
    return null;
  },
};

function contentOf({ name, permissions }: z.output<typeof StaffSetDraft>) {
  return { name, permissions: [...new Set(permissions)].join(",") };
}

/** A set as the audit log tells it. */
function listed({ name, permissions }: Pick<StaffSetRow, "name" | "permissions">) {
  return { name, permissions: permissions.split(",") };
}

/** Which permissions a change gives, and which it takes: whatever else the set has. */
function changeOf(before: readonly string[], after: readonly string[]) {
  return {
    added: after.filter((one) => !before.includes(one)),
    removed: before.filter((one) => !after.includes(one)),
  };
}

/** Throws: AppError when there is a set of this name. */
async function naming<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isTaken(error) ? faults.refused("已有同名的权限集") : error;
  }
}

async function getSet({ db }: Context, id: number): Promise<StaffSetRow> {
  const row = await findStaffSet(db, id);
  if (!row) throw faults.notFound("找不到该权限集");
  return row;
}

async function presentOne(ctx: Context, id: number): Promise<StaffSet> {
  return present(await getSet(ctx, id), await countStaff(ctx.db));
}

function present(row: StaffSetRow, counts: ReadonlyMap<number, number>): StaffSet {
  const { id, name, permissions, updated_at } = row;
  return {
    id,
    name,
    permissions: permissions.split(","),
    is_built_in: row.is_built_in === 1,
    members: counts.get(id) ?? 0,
    updated_at,
  };
}
