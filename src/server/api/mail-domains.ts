// Handlers: domains of mail that lead into a group and a team, for the super administrator (requirements I65).
import type { MailDomainDraft, MailDomainRow, mailDomainApi } from "#contract/mail-domain.ts";
import { checkTeams } from "#server/accounts/seats.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  deleteMailDomain,
  findMailDomain,
  insertMailDomain,
  listMailDomains,
  updateMailDomain,
} from "#server/store/mail-domains.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

export const mailDomain: Handlers<{ mailDomain: typeof mailDomainApi }>["mailDomain"] = {
  list,

  async create(ctx, call) {
    const { body } = call;
    await check(ctx, body);
    const id = await taking(() =>
      ctx.db.transaction().execute(async (tx) => {
        const made = await insertMailDomain(tx, { ...body, created_at: ctx.clock.seconds() });
        await audit(ctx, tx, call, { action: "mail_domain.create", target: made, detail: body });
        return made;
      }),
    );
    return present(ctx, id);
  },

  async update(ctx, call) {
    const { body, params } = call;
    await check(ctx, body);
    await taking(() =>
      ctx.db.transaction().execute(async (tx) => {
        const before = await findMailDomain(tx, params.id);
        if (before === undefined) throw gone();
        await updateMailDomain(tx, params.id, body);
        await audit(ctx, tx, call, { action: "mail_domain.update", target: params.id, detail: body, before });
      }),
    );
    return present(ctx, params.id);
  },

  async remove(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      const before = await findMailDomain(tx, id);
      if (before === undefined) throw gone();
      await deleteMailDomain(tx, id);
      const detail = { domain: before.domain };
      await audit(ctx, tx, call, { action: "mail_domain.delete", target: id, detail });
    });
    return null;
  },
};

async function list({ db }: Pick<Context, "db">): Promise<MailDomainRow[]> {
  const rows = await listMailDomains(db);
  return rows.map(({ team_role, team_name, ...row }) => ({
    ...row,
    // The column holds what a draft may.
    team_role: team_role as MailDomainRow["team_role"],
    team_name: team_name ?? "",
  }));
}

async function present(ctx: Context, id: number): Promise<MailDomainRow> {
  const row = (await list(ctx)).find((one) => one.id === id);
  if (row === undefined) throw gone();
  return row;
}

function gone() {
  return faults.notFound("找不到该邮箱域名");
}

/** Throws: AppError when it leads nowhere, or to what is not there. */
async function check(ctx: Context, { group, team_id }: MailDomainDraft): Promise<void> {
  if (group === "" && team_id === 0) throw faults.invalid("请选择分组或团队");
  if (group !== "" && !Object.hasOwn(ctx.options.get("GroupRatio"), group))
    throw faults.refused(`没有这个分组：${group}`);
  await checkTeams(ctx.db, [team_id]);
}

/** Throws: AppError when the domain has a row. */
async function taking<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isTaken(error) ? faults.refused("该域名已经添加") : error;
  }
}
