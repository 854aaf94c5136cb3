// Handlers: the login providers, for the super administrator. Secrets are written and never read (requirements I48).
import type { LoginProvider, loginProviderApi } from "#contract/login-provider.ts";
import {
  checkProvider,
  openProvider,
  providerColumns,
  redirectUrl,
  settingsOf,
} from "#server/accounts/login-providers.ts";
import { checkTeams } from "#server/accounts/seats.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  countIdentities,
  findDeletedProvider,
  findProvider,
  insertProvider,
  listProviders,
  type ProviderRow,
  purgeProviders,
  updateProvider,
} from "#server/store/sign-on.ts";
import { findStaffSet } from "#server/store/staff.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

/** How long what was bound to a deleted provider is kept: one that is set up again finds its people. Unit: seconds. */
const KEPT_SEC = 30 * 86_400;

export const loginProvider: Handlers<{ loginProvider: typeof loginProviderApi }>["loginProvider"] = {
  async list(ctx) {
    const counts = await countIdentities(ctx.db);
    return (await listProviders(ctx.db)).map((row) => present(ctx, row, counts.get(row.id) ?? 0));
  },

  async create(ctx, call) {
    const { kind, slug, ...draft } = call.body;
    checkProvider(ctx, kind, draft);
    await checkRules(ctx.db, draft);
    if (!["oidc", "oauth2"].includes(kind) && draft.secret === "") throw faults.invalid("请填写应用密钥");
    const columns = providerColumns(ctx, draft);
    const now = ctx.clock.seconds();
    const id = await taking(() =>
      ctx.db.transaction().execute(async (tx) => {
        await purgeProviders(tx, now - KEPT_SEC);
        const before = await findDeletedProvider(tx, { slug, kind, deletedFrom: now - KEPT_SEC });
        const isSame = before !== undefined && isSameService(before, draft);
        const made = isSame
          ? before.id
          : await insertProvider(tx, { secret_sealed: "", ...columns, kind, slug, created_at: now });
        if (isSame) await updateProvider(tx, made, { ...columns, deleted_at: 0 });
        const detail = { slug, kind, name: draft.name, is_revived: isSame };
        await audit(ctx, tx, call, { action: "login_provider.create", target: made, detail });
        return made;
      }),
    );
    await ctx.signOn.changed();
    return presentById(ctx, id);
  },

  async update(ctx, call) {
    const { body, params } = call;
    const before = await getProvider(ctx, params.id);
    checkProvider(ctx, openProvider(ctx, before).kind, body);
    await checkRules(ctx.db, body);
    await ctx.db.transaction().execute(async (tx) => {
      await updateProvider(tx, before.id, providerColumns(ctx, body));
      const { secret, ...told } = body;
      const detail = { ...told, is_secret_changed: secret !== "" };
      const act = { action: "login_provider.update", target: before.id, detail } as const;
      await audit(ctx, tx, call, { ...act, before: present(ctx, before, 0) });
    });
    await ctx.signOn.changed();
    return presentById(ctx, before.id);
  },

  async remove(ctx, call) {
    const before = await getProvider(ctx, call.params.id);
    if (call.query.name !== before.name) throw faults.refused("输入的名称与该登录服务不一致");
    await ctx.db.transaction().execute(async (tx) => {
      await updateProvider(tx, before.id, { deleted_at: ctx.clock.seconds(), is_enabled: 0 });
      const detail = { slug: before.slug, name: before.name };
      await audit(ctx, tx, call, { action: "login_provider.delete", target: before.id, detail });
    });
    await ctx.signOn.changed();
    return null;
  },

  async test(ctx, call) {
    const row = await getProvider(ctx, call.params.id);
    const problem = await ctx.signOn.probe(openProvider(ctx, row));
    const detail = { slug: row.slug, problem };
    await audit(ctx, ctx.db, call, { action: "login_provider.test", target: row.id, detail });
    return { is_ok: problem === "", detail: problem };
  },
};

/** Throws: AppError when a rule leads to a team or a set of permissions that is not there, or to one without consent. */
async function checkRules(
  db: Db,
  { rules, grants_staff }: Pick<LoginProvider, "rules" | "grants_staff">,
): Promise<void> {
  await checkTeams(
    db,
    rules.map(({ team_id }) => team_id),
  );
  const sets = new Set(rules.map(({ staff_set_id }) => staff_set_id).filter((id) => id !== 0));
  if (sets.size > 0 && !grants_staff)
    throw faults.refused("规则会授予管理员权限，请先开启“可以授予管理员权限”");
  for (const id of sets) {
    if ((await findStaffSet(db, id)) === undefined) throw faults.refused(`没有这个权限集：${id}`);
  }
}

/** Subjects of another service mean other people: those come back as strangers. */
function isSameService(
  before: ProviderRow,
  draft: Pick<LoginProvider, "issuer" | "userinfo_url" | "id_path" | "client_id">,
): boolean {
  const known = settingsOf(before);
  const isOwn = known.issuer !== "" || known.userinfo_url !== "";
  return (
    // Chats have no address of their own: their apps tell them apart.
    (isOwn || known.client_id === draft.client_id) &&
    known.issuer === draft.issuer &&
    known.userinfo_url === draft.userinfo_url &&
    known.id_path === draft.id_path
  );
}

/** Throws: AppError when the slug is taken. */
async function taking<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isTaken(error) ? faults.refused("该标识已被另一个登录服务使用") : error;
  }
}

async function getProvider({ db }: Context, id: number): Promise<ProviderRow> {
  const row = await findProvider(db, id);
  if (!row) throw faults.notFound("找不到该登录服务");
  return row;
}

async function presentById(ctx: Context, id: number): Promise<LoginProvider> {
  const counts = await countIdentities(ctx.db);
  return present(ctx, await getProvider(ctx, id), counts.get(id) ?? 0);
}

function present(ctx: Context, row: ProviderRow, identities: number): LoginProvider {
  return {
    ...settingsOf(row),
    id: row.id,
    slug: row.slug,
    kind: openProvider(ctx, row).kind,
    name: row.name,
    is_enabled: row.is_enabled === 1,
    sort: row.sort,
    has_secret: row.secret_sealed !== "",
    redirect_url: redirectUrl(ctx, row.slug),
    identities,
  };
}
