// Handlers: the models of a channel beside its upstream's list, and what an administrator takes over of it (requirements C46).
import type { z } from "zod";
import type { channelModelsApi, ModelComparison } from "#contract/channel-models.ts";
import type { Language } from "#contract/language.ts";
import { unpricedBy } from "#contract/unpriced.ts";
import { readMapping } from "#server/channels/candidates.ts";
import type { Diff } from "#server/channels/model-diff.ts";
import { compareModels, decided, openDiff, problemOf, wasHalved } from "#server/channels/model-lists.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { type ChannelRow, findChannel, lockChannel, updateChannel } from "#server/store/channels.ts";
import { countModelCalls, findModelList, saveModelList } from "#server/store/model-lists.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { presentChannel } from "./channel-view.ts";

export const channelModels: Handlers<{ channelModels: typeof channelModelsApi }>["channelModels"] = {
  get: (ctx, call) => compared(ctx, call.params.id, call),

  async check(ctx, call) {
    const { id } = call.params;
    await getChannel(ctx, id);
    await ctx.candidates.pending;
    const channel = ctx.candidates.byId(id);
    if (channel === undefined) throw faults.refused("该渠道的类型或密钥无法使用");
    const detail = call.body.accept ? { accept: true } : {};
    await audit(ctx, ctx.db, call, { action: "channel.models_check", target: id, detail });
    await compareModels(ctx, channel, call.body.accept);
    return compared(ctx, id, call);
  },

  async apply(ctx, call) {
    const { id } = call.params;
    await ctx.db.transaction().execute(async (tx) => {
      await lockChannel(tx, id);
      const row = await findChannel(tx, id);
      const list = await findModelList(tx, id);
      if (row === undefined) throw faults.notFound("找不到该渠道");
      if (list === undefined) throw faults.refused("尚未与上游比较");
      const diff = openDiff(row, list);
      checkDecision(ctx, diff, call.body);
      const counted = { models: call.body.remove, since: ctx.clock.seconds() - DAY_SEC };
      const [used] = await countModelCalls(tx, id, counted);
      if (used !== undefined)
        throw faults.refused(`“${used[0]}”在过去 24 小时有 ${used[1]} 次调用，没有移除`);
      const change = changeOf(row, diff, call.body);
      await updateChannel(tx, id, change);
      const { add, remove, rename, ignore } = call.body;
      await saveModelList(tx, decided(list, new Set([...add, ...remove, ...rename, ...ignore])));
      const detail = { add, remove, rename, ignore, ...change };
      await audit(ctx, tx, call, { action: "channel.models_apply", target: id, detail, before: row });
    });
    await ctx.coord.publish("channels", String(id));
    await ctx.candidates.pending;
    return presentChannel(ctx, await getChannel(ctx, id));
  },
};

async function getChannel(ctx: Context, id: number): Promise<ChannelRow> {
  const row = await findChannel(ctx.db, id);
  if (row === undefined) throw faults.notFound("找不到该渠道");
  return row;
}

async function compared(
  ctx: Context,
  id: number,
  { language }: { readonly language: Language },
): Promise<ModelComparison> {
  const row = await getChannel(ctx, id);
  const list = await findModelList(ctx.db, id);
  const problem = problemOf(row, list);
  const { fresh, gone } = openDiff(row, list);
  const isUnpriced = unpricedAmong(ctx, fresh);
  const counted = { models: gone.map(({ name }) => name), since: ctx.clock.seconds() - DAY_SEC };
  const calls = await countModelCalls(ctx.db, id, counted);
  return {
    checked_time: list?.checked_time ?? 0,
    total: list?.total ?? 0,
    problem: say(problem, language),
    halved: wasHalved(problem),
    fresh: fresh.map((name) => ({ name, priced: !isUnpriced.has(name) })),
    gone: gone.map((one) => ({ ...one, calls: calls.get(one.name) ?? 0 })),
  };
}

function unpricedAmong({ options }: Context, models: readonly string[]): ReadonlySet<string> {
  return new Set(unpricedBy(options.list())({ models, mapping: new Map() }));
}

type Decision = z.output<typeof channelModelsApi.apply.body>;

/** Throws: AppError when something is decided that is not proposed (any more), or that would make calls fail. */
function checkDecision(ctx: Context, { fresh, gone }: Diff, { add, remove, rename, ignore }: Decision): void {
  const isFresh = new Set(fresh);
  const isGone = new Set(gone.map(({ name }) => name));
  const mayRename = new Set(gone.filter(({ like }) => like !== "").map(({ name }) => name));
  const isStale =
    add.some((name) => !isFresh.has(name)) ||
    remove.some((name) => !isGone.has(name)) ||
    rename.some((name) => !mayRename.has(name)) ||
    ignore.some((name) => !isFresh.has(name) && !isGone.has(name));
  if (isStale) throw faults.refused("差异已有变化，请刷新后重试");
  const [unpriced] = unpricedAmong(ctx, add);
  if (unpriced !== undefined) throw faults.refused(`“${unpriced}”还没有价格，请先设置价格`);
  const all = [...add, ...remove, ...rename, ...ignore];
  if (new Set(all).size < all.length) throw faults.refused("同一个模型只能选择一种处理");
}

/** The channel's list and mapping with the decision in them. Throws: AppError when nothing would be left. */
function changeOf(row: ChannelRow, { gone }: Diff, { add, remove, rename }: Decision) {
  const isRemoved = new Set(remove);
  const models = row.models.split(",").filter((name) => name !== "" && !isRemoved.has(name));
  const mapping = new Map([...readMapping(row.model_mapping)].filter(([name]) => !isRemoved.has(name)));
  const isRenamed = new Set(rename);
  for (const { name, like } of gone) if (isRenamed.has(name)) mapping.set(name, like);
  const all = [...models, ...add];
  if (all.length === 0) throw faults.refused("渠道至少要有一个模型");
  const isSame = remove.length === 0 && rename.length === 0;
  const model_mapping = isSame ? row.model_mapping : mappingText(mapping);
  return { models: all.join(","), model_mapping };
}

function mappingText(mapping: ReadonlyMap<string, string>): string {
  return mapping.size === 0 ? "" : JSON.stringify(Object.fromEntries(mapping), null, 2);
}
