// Handler: a group gets another name, everywhere at once (requirements K16, C65).
import type { groupAdminApi } from "#contract/group-admin.ts";
import { type OptionKey, optionTable } from "#contract/option.ts";
import { routeRules } from "#contract/route-rule.ts";
import type { Context } from "#server/context.ts";
import { tellRenamed } from "#server/coord/renamed-groups.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { isGroupUsed, renameGroup } from "#server/store/groups.ts";
import { findOption } from "#server/store/options.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";

/** What users without a group are in; and without its ratio there would be no price. */
const FIXED = "default";
/** Tables whose names are groups. */
const TABLES = [
  "GroupRatio",
  "UserUsableGroups",
  "ChannelStrategyByGroup",
] as const satisfies readonly OptionKey[];
/** Whose caches hold a group. */
const TOPICS = ["channels", "users", "tokens", "login_providers"] as const;

export const groupAdmin: Handlers<{ groupAdmin: typeof groupAdminApi }>["groupAdmin"] = {
  async rename(ctx, call) {
    const { from, to } = call.body;
    if (from === to) throw faults.refused("新旧名称相同");
    if (from === FIXED || to === FIXED) throw faults.refused("default 分组不能重命名，也不能成为新名称");
    const ratios = ctx.options.get("GroupRatio");
    if (!Object.hasOwn(ratios, from)) throw faults.refused(`没有这个分组：${from}`);
    if (Object.hasOwn(ratios, to) || (await isGroupUsed(ctx.db, to)))
      throw faults.refused(`分组“${to}”已经存在，不能合并`);
    await tellRenamed(ctx.coord, from, to);
    const renamed = await ctx.db.transaction().execute(async (tx) => {
      for (const key of TABLES) await renameInOption(ctx, tx, key, { from, to });
      await renameInRules(ctx, tx, { from, to });
      const counts = await renameGroup(tx, { from, to });
      await audit(ctx, tx, call, { action: "group.rename", target: from, detail: { to, ...counts } });
      return counts;
    });
    for (const topic of TOPICS) await ctx.coord.publish(topic, "");
    await ctx.options.announce();
    return renamed;
  },
};

/** The table as it is stored now: what this process knows may be a moment old. Throws: when another renaming was faster. */
async function renameInOption(
  { options }: Pick<Context, "options">,
  tx: Db,
  key: (typeof TABLES)[number],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  // Accepted when it was written.
  const table = JSON.parse((await findOption(tx, key)) ?? optionTable[key].fallback) as Record<
    string,
    unknown
  >;
  const isThere = Object.hasOwn(table, from);
  if (key === "GroupRatio" && (!isThere || Object.hasOwn(table, to)))
    throw faults.refused("分组刚刚被修改，请刷新后重试");
  if (!isThere) return;
  const entries = Object.entries(table).map(([name, value]) => [name === from ? to : name, value]);
  await options.write(tx, key, JSON.stringify(Object.fromEntries(entries)));
}

/** The same in the conditions of the rules of routing. */
async function renameInRules(
  { options }: Pick<Context, "options">,
  tx: Db,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const stored = await findOption(tx, "RouteRules");
  const rules = routeRules.decode(stored ?? optionTable.RouteRules.fallback);
  if (!rules.some(({ groups }) => groups?.includes(from) === true)) return;
  const renamed = rules.map((rule) => {
    if (rule.groups === undefined) return rule;
    // A rule may have named the new one before it was a group.
    return { ...rule, groups: [...new Set(rule.groups.map((name) => (name === from ? to : name)))] };
  });
  await options.write(tx, "RouteRules", routeRules.encode(renamed));
}
