// Rules of routing by condition (requirements C44): which channels calls may go to, by model, group, team, and size of the request.
import { z } from "zod";
import { GroupName } from "./group.ts";

export const MOST_ROUTE_RULES = 50;
const MOST_NAMED = 200;

const Ids = z.array(z.int().min(1)).min(1, "渠道列表不能为空").max(MOST_NAMED, `最多 ${MOST_NAMED} 个渠道`);
/** A model, or a beginning with `*` behind. */
const Pattern = z
  .string()
  .min(1)
  .max(200, "模型名最多 200 个字符")
  .regex(/^[^*]*\*?$/, "模型名里的 * 只能在末尾");
const Kib = z.int().min(0, "请求大小不能为负数").max(1_048_576, "请求大小过大");

const RouteRule = z
  .strictObject({
    name: z.string().trim().min(1, "规则须有名称").max(50, "规则名称最多 50 个字符"),
    /** All that are named must hold; a rule without any is for every call. */
    models: z.array(Pattern).min(1).max(MOST_NAMED).optional(),
    groups: z.array(GroupName).min(1).max(MOST_NAMED).optional(),
    /** Teams that pay, by their ids. */
    teams: z.array(z.int().min(1)).min(1).max(MOST_NAMED).optional(),
    /** Size of the request's body in KiB: more than, at most. */
    kib_over: Kib.optional(),
    kib_up_to: Kib.optional(),
    /** Ids of channels: no others, or not these. */
    only: Ids.optional(),
    avoid: Ids.optional(),
  })
  .refine(({ only, avoid }) => (only === undefined) !== (avoid === undefined), "规则须有 only 或 avoid 之一");
export type RouteRule = z.output<typeof RouteRule>;

export const RouteRules = z
  .array(RouteRule)
  .max(MOST_ROUTE_RULES, `最多 ${MOST_ROUTE_RULES} 条规则`)
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, "规则的名称不能重复");

/** The channels that a rule leaves. */
export function allowedBy<C extends { readonly id: number }>(
  { only, avoid }: Pick<RouteRule, "only" | "avoid">,
  channels: readonly C[],
): readonly C[] {
  return channels.filter(({ id }) => only?.includes(id) !== false && avoid?.includes(id) !== true);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const check: z.core.CheckFn<string> = ({ value, issues }) => {
  const read = RouteRules.safeParse(readJson(value));
  if (read.success) return;
  const [issue] = read.error.issues;
  const [at] = issue?.path ?? [];
  const isOwn = issue?.code === "custom" || issue?.code === "too_big" || issue?.code === "too_small";
  const what = isOwn ? issue.message : "格式有误";
  const message = typeof at === "number" ? `第 ${at + 1} 条路由规则：${what}` : `路由规则：${what}`;
  issues.push({ code: "custom", input: value, message });
};

/** JSON text of the rules in their order: the first that applies to a call holds. */
export const routeRules = z.codec(z.string().max(200_000, "路由规则过长").check(check), z.array(RouteRule), {
  // Just found to be rules.
  decode: (value) => RouteRules.catch([]).parse(readJson(value)),
  encode: (rules) => JSON.stringify(rules, null, 2),
});
