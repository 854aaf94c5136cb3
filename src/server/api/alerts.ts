// Handlers: targets of alerts and what was sent to them, for the super administrator. Secrets are written and never read
// (requirements I54).
import type { AlertTarget, alertApi } from "#contract/alert.ts";
import type { Language } from "#contract/language.ts";
import { checkTarget, openTarget, shownAddress, targetColumns } from "#server/alerts/targets.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import {
  type AlertTargetRow,
  countWaiting,
  findAlertTarget,
  insertAlertTarget,
  lastDeliveries,
  listAlertTargets,
  listConditions,
  listDeliveries,
  removeAlertTarget,
  reviveDelivery,
  stopDeliveries,
  updateAlertTarget,
} from "#server/store/alerts.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

const MAX_TARGETS = 50;

export const alert: Handlers<{ alert: typeof alertApi }>["alert"] = {
  async list(ctx, { language }) {
    const waiting = await countWaiting(ctx.db);
    const rows = await listAlertTargets(ctx.db);
    return Promise.all(rows.map((row) => present(ctx, row, waiting.get(row.id) ?? 0, language)));
  },

  async create(ctx, call) {
    const { kind, ...draft } = call.body;
    checkTarget(ctx, kind, draft);
    if ((await listAlertTargets(ctx.db)).length >= MAX_TARGETS)
      throw faults.refused(`最多 ${MAX_TARGETS} 个通知对象`);
    const row = {
      address_sealed: "",
      secret_sealed: "",
      ...targetColumns(ctx, draft),
      kind,
      created_at: ctx.clock.seconds(),
    };
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertAlertTarget(tx, row);
      const detail = { kind, name: draft.name, events: draft.events };
      await audit(ctx, tx, call, { action: "alert.create", target: made, detail });
      return made;
    });
    return present(ctx, await getTarget(ctx, id), 0, call.language);
  },

  async update(ctx, call) {
    const { body, params } = call;
    const before = await getTarget(ctx, params.id);
    const opened = openTarget(ctx, before);
    checkTarget(ctx, opened.kind, body, opened);
    const was = await present(ctx, before, 0, "zh");
    await ctx.db.transaction().execute(async (tx) => {
      await updateAlertTarget(tx, before.id, targetColumns(ctx, body));
      if (!body.is_enabled) await stopDeliveries(tx, before.id, "通知对象已停用", ctx.clock.seconds());
      const { address, secret, ...told } = body;
      const detail = { ...told, is_address_changed: address !== "", is_secret_changed: secret !== "" };
      await audit(ctx, tx, call, { action: "alert.update", target: before.id, detail, before: was });
    });
    const waiting = await countWaiting(ctx.db);
    return present(ctx, await getTarget(ctx, before.id), waiting.get(before.id) ?? 0, call.language);
  },

  async remove(ctx, call) {
    const { id, name, kind } = await getTarget(ctx, call.params.id);
    await ctx.db.transaction().execute(async (tx) => {
      await removeAlertTarget(tx, id);
      await audit(ctx, tx, call, { action: "alert.delete", target: id, detail: { kind, name } });
    });
    return null;
  },

  async test(ctx, call) {
    const row = await getTarget(ctx, call.params.id);
    const outcome = await ctx.alerts.test(openTarget(ctx, row));
    const problem = outcome.isSent ? "" : outcome.problem;
    await audit(ctx, ctx.db, call, { action: "alert.test", target: row.id, detail: { problem } });
    return { is_ok: outcome.isSent, detail: say(problem, call.language) };
  },

  async deliveries(ctx, { query, language }) {
    const { p: page, size, target } = query;
    const { rows, total } = await listDeliveries(ctx.db, { page, size, target });
    const data = rows.map(({ about: _about, next_ms, done_at, ...row }) => ({
      ...row,
      title: say(row.title, language),
      problem: say(row.problem, language),
      at: done_at || Math.ceil(next_ms / 1_000),
    }));
    return { data, total };
  },

  async retry(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      if (!(await reviveDelivery(tx, id))) throw faults.notFound("找不到这条失败的消息");
      await audit(ctx, tx, call, { action: "alert.retry", target: id });
    });
    void ctx.alerts.deliver();
    return null;
  },

  async conditions(ctx, { language }) {
    const rows = await listConditions(ctx.db);
    return rows.map((row) => ({ ...row, title: say(row.title, language) }));
  },
};

async function getTarget({ db }: Context, id: number): Promise<AlertTargetRow> {
  const row = await findAlertTarget(db, id);
  if (!row) throw faults.notFound("找不到该通知对象");
  return row;
}

async function present(
  ctx: Context,
  row: AlertTargetRow,
  waiting: number,
  language: Language,
): Promise<AlertTarget> {
  const target = openTarget(ctx, row);
  const { sent, ended } = await lastDeliveries(ctx.db, row.id);
  const { id, kind, name, events, tells_end, quiet_from, quiet_to, to } = target;
  return {
    ...{ id, kind, name, tells_end, quiet_from, quiet_to, to, waiting },
    language: target.language,
    events: [...events],
    is_enabled: row.is_enabled === 1,
    address: shownAddress(target),
    has_secret: target.secret !== "",
    last_sent_at: sent?.done_at ?? 0,
    last_problem: say(ended?.problem ?? "", language),
  };
}
