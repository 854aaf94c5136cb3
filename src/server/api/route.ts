// Handlers: the route explainer (requirements C47).

import type { Language } from "#contract/language.ts";
import { LogType } from "#contract/log.ts";
import { modelList } from "#contract/model-list.ts";
import type { RouteDecision, RouteExplanation, routeApi } from "#contract/route.ts";
import { TokenStatus } from "#contract/token.ts";
import { UserStatus } from "#contract/user.ts";
import { planGraceSec, readScope, type Scope } from "#server/accounts/caller-scope.ts";
import { type KeptVerdict, readDecision } from "#server/channels/decision.ts";
import { type Explained, explainRoute } from "#server/channels/explain.ts";
import { countsOf } from "#server/channels/explain-keys.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { findStatusReasons } from "#server/store/channels.ts";
import {
  type FailedAttempt,
  OVERTAKEN,
  parseAttempts,
  parseDecision,
} from "#server/store/failed-attempts.ts";
import { channelNames, findLog, type LogRow } from "#server/store/logs.ts";
import { findKeyOwner } from "#server/store/tokens.ts";
import { findUserById } from "#server/store/users.ts";
import type { Handlers } from "./call.ts";
import { NONE_OFF, offCounts, readFormat, routeKeys } from "./route-keys.ts";

export const route: Handlers<{ route: typeof routeApi }>["route"] = {
  async explain(ctx, { query, language }) {
    const { token_id: tokenId, user_id: userId } = query;
    const model = query.model.trim();
    if (model === "") throw faults.refused("请填写模型");
    const format = readFormat(query.format);
    const caller = await callerOf(ctx, { tokenId, userId, group: query.group.trim() || "default" });
    await ctx.candidates.pending;
    const { groups, refusal, models, teamId } = caller;
    const bytes = query.kib * 1_024;
    const isAllowed = models?.has(model) !== false;
    const told: RouteExplanation[] = [];
    for (const [at, group] of groups.entries()) {
      const mayMoveOn = at < groups.length - 1;
      const explained = await explainRoute(ctx, { group, model, format, teamId, bytes, mayMoveOn });
      const whole = await withStored(ctx, explained);
      const said = refusal || (isAllowed ? whole.refusal : `令牌的模型范围不包含 ${model}`);
      told.push({ ...whole, refusal: say(said, language) });
    }
    const [data, ...further] = told;
    if (data === undefined) throw new Error("a caller has a group");
    return { data, further };
  },

  async call(ctx, { params, language }) {
    const row = await findLog(ctx.db, params.id);
    if (row === undefined || row.model_name === "") throw faults.notFound("找不到该调用");
    return decisionOf(ctx, row, language);
  },

  keys: routeKeys,
};

interface Asked {
  readonly tokenId: number;
  readonly userId: number;
  readonly group: string;
}

interface Who {
  /** Order: as they are tried. */
  readonly groups: readonly [string, ...string[]];
  /** Why it may not call at all; "" = it may. */
  readonly refusal: string;
  readonly models: ReturnType<typeof modelList>;
  /** The team that pays; 0 = none does. */
  readonly teamId: number;
}

/** Who is asked about, as the relay would see him. Throws: 404. */
async function callerOf(ctx: Context, { tokenId, userId, group }: Asked): Promise<Who> {
  const { clock, options, renamedGroups } = ctx;
  const tables = {
    usable: options.get("UserUsableGroups"),
    ratios: options.get("GroupRatio"),
    otherNames: renamedGroups.otherNames,
  };
  const now = { nowSec: clock.seconds(), graceSec: planGraceSec(options), tables };
  if (tokenId > 0) {
    const row = await findKeyOwner(ctx.db, tokenId);
    if (row === undefined) throw faults.notFound("找不到该令牌");
    const scope = await readScope(ctx.db, row, now);
    const isUsable = row.status === TokenStatus.enabled || row.status === TokenStatus.exhausted;
    const refusal = row.user_status !== UserStatus.enabled ? "账户已停用" : isUsable ? "" : "令牌不可用";
    const models = modelList(row.models.split(",").filter((name) => name !== ""));
    return { ...groupsOf(scope, refusal), models, teamId: row.team_id ?? 0 };
  }
  if (userId === 0) return { groups: [group], refusal: "", models: undefined, teamId: 0 };
  const user = await findUserById(ctx.db, userId);
  if (user === undefined) throw faults.notFound("找不到该用户");
  const own = {
    id: 0,
    user_id: userId,
    wallet_id: 0,
    project_id: 0,
    group: user.group,
    wallet_group: null,
    seat_id: null,
    groups: "",
  };
  const scope = await readScope(ctx.db, own, now);
  const refusal = user.status === UserStatus.enabled ? "" : "账户已停用";
  return { groups: [scope.groups[0]?.group ?? "default"], refusal, models: undefined, teamId: 0 };
}

/** The groups that a token tries, each when the one before has no channel left. */
function groupsOf({ groups }: Scope, refusal: string): Pick<Who, "groups" | "refusal"> {
  const [first, ...others] = groups.map(({ group }) => group);
  return first === undefined
    ? { groups: [""], refusal: refusal || "令牌的分组都不再可用" }
    : { groups: [first, ...others], refusal };
}

/** What was kept with a call, with the names that its channels have now. */
async function decisionOf({ db }: Context, row: LogRow, language: Language): Promise<RouteDecision> {
  const decisions = readDecision(parseDecision(row.trail));
  const attempts = new Map(parseAttempts(row.trail).map((attempt) => [attempt.channelId, attempt]));
  const ids = decisions.flatMap(({ candidates }) => candidates.map(({ id }) => id));
  const names = await channelNames(db, ids);
  return {
    log_id: row.id,
    ...{ request_id: row.request_id, created_at: row.created_at, user_id: row.user_id },
    ...{ model: row.model_name, channel: row.channel_id, key_id: row.key_id },
    served: row.type === LogType.consume,
    groups: decisions.map(({ group, strategy, isNativeFirst, isSticky, candidates, more }) => ({
      ...{ group, strategy, more },
      native_first: isNativeFirst,
      sticky: isSticky,
      candidates: candidates.map(({ id, verdict }) => ({
        ...{ id, name: names.get(id) ?? "" },
        // It was chosen and failed at once, or was called beside the one that was chosen: no other choice came after it.
        verdict: isTried(verdict, attempts.get(id)) ? ("tried" as const) : verdict,
        error: attempts.get(id)?.error ?? "",
        said: say(attempts.get(id)?.said ?? "", language),
      })),
    })),
  };
}

function isTried(verdict: KeptVerdict, attempt: FailedAttempt | undefined): boolean {
  return attempt !== undefined && (verdict === "chosen" || attempt.error === OVERTAKEN);
}

/** With what only the tables know: why channels are disabled, and how many of their keys. */
async function withStored({ db }: Context, { told, keys }: Explained): Promise<RouteExplanation> {
  const off = told.channels.filter(({ verdict }) => verdict === "disabled" || verdict === "auto_disabled");
  const reasons = await findStatusReasons(
    db,
    off.map(({ id }) => id),
  );
  const offKeys = await offCounts(db, [...keys.keys()]);
  const channels = told.channels.map((channel) => {
    const { id } = channel;
    const known = keys.get(id);
    const whole = { ...channel, ...(off.includes(channel) && reasons.get(id)) };
    if (known === undefined) return whole;
    const counts = countsOf(known.keys, offKeys.get(id) ?? NONE_OFF);
    return { ...whole, keys: counts, keys_total: counts.reduce((sum, { count }) => sum + count, 0) };
  });
  return { ...told, channels };
}
