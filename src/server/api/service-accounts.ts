// Handlers: service accounts, the access tokens of machines (requirements Z18). What one may do at a call is decided in accounts.
import type { serviceAccountApi } from "#contract/service-account.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { isSuper, may } from "#server/accounts/may.ts";
import { newServiceToken } from "#server/accounts/service-accounts.ts";
import { DAY_SEC } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import {
  countServiceAccounts,
  findServiceAccount,
  insertServiceAccount,
  listServiceAccounts,
  revokeServiceAccount,
  type ServiceAccountRow,
} from "#server/store/service-accounts.ts";
import { nameUsers } from "#server/store/usage.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { refuseSubnet } from "./token-rows.ts";

const LISTED = 500;
/** Of one maker, that can be used. */
const MOST = 50;

export const serviceAccount: Handlers<{ serviceAccount: typeof serviceAccountApi }>["serviceAccount"] = {
  async list({ db }, { actor }) {
    const rows = await listServiceAccounts(db, isSuper(actor) ? 0 : actor.id, LISTED);
    const names = await nameUsers(
      db,
      rows.map(({ created_by }) => created_by),
    );
    return rows.map((row) => present(row, names.get(row.created_by) ?? ""));
  },

  async create(ctx, call) {
    const { actor } = call;
    const { days, subnet, name } = call.body;
    refuseSubnet(subnet);
    const held = [...new Set(call.body.permissions)];
    const beyond = held.find((permission) => !may(actor, permission));
    if (beyond !== undefined) throw faults.denied("服务账户的权限不能超过您自己的", beyond);
    const now = ctx.clock.seconds();
    const token = newServiceToken();
    const row = {
      name,
      permissions: held.join(","),
      subnet,
      created_by: actor.id,
      created_at: now,
      expires_at: now + days * DAY_SEC,
      revoked_at: 0,
      last_used_at: 0,
      last_address: "",
    };
    const id = await ctx.db.transaction().execute(async (tx) => {
      if ((await countServiceAccounts(tx, actor.id, now)) >= MOST)
        throw faults.refused(`最多 ${MOST} 个可用的服务账户`);
      const made = await insertServiceAccount(tx, { ...row, key_hash: ctx.secrets.hash(token) });
      const detail = { name, permissions: row.permissions, subnet, days };
      await audit(ctx, tx, call, { action: "service.create", target: made, detail });
      return made;
    });
    return { ...present({ ...row, id }, actor.username), token };
  },

  async revoke(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      const row = await findServiceAccount(tx, id);
      const isDone = isWithin(call.actor, row) && (await revokeServiceAccount(tx, id, ctx.clock.seconds()));
      if (!isDone) throw faults.notFound("找不到该服务账户");
      await audit(ctx, tx, call, { action: "service.revoke", target: id, detail: { name: row.name } });
    });
    return null;
  },
};

/** Whether the actor may end it: his own, a super administrator everybody's. */
function isWithin(actor: Actor, row: ServiceAccountRow | undefined): row is ServiceAccountRow {
  return row !== undefined && (isSuper(actor) || row.created_by === actor.id);
}

function present(row: ServiceAccountRow, creator: string) {
  return { ...row, permissions: row.permissions.split(","), creator, token: "" };
}
