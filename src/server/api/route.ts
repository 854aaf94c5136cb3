// Handlers: the route explainer (requirements C47).

import type { Language } from "#contract/language.ts";
import { LogType } from "#contract/log.ts";
import {
  ROUTE_FORMATS,
  type RouteDecision,
  type RouteExplanation,
  type RouteFormat,
  type routeApi,
} from "#contract/route.ts";
import { TokenStatus } from "#contract/token.ts";
import { UserStatus } from "#contract/user.ts";
import { planGraceSec, readScope, type Scope } from "#server/accounts/caller-scope.ts";
import { modelList } from "#server/accounts/model-list.ts";
import { type KeptVerdict, readDecision } from "#server/channels/decision.ts";
import { explainKey, explainRoute } from "#server/channels/explain.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { countKeys, listKeys } from "#server/store/channel-key-lists.ts";
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

export const route: Handlers<{ route: typeof routeApi }>["route"] = {
  async explain(ctx, { query, language }) {
    const { token_id: tokenId, user_id: userId } = query;
    const model = query.model.trim();
    const format = query.format.trim() || "chat";
    if (model === "") throw faults.refused("请填写模型");
    if (!isFormat(format)) throw faults.refused(`接口须为 ${ROUTE_FORMATS.join("、")} 之一`);
    const caller = await callerOf(ctx, { tokenId, userId, group: query.group.trim() || "default" });
    await ctx.candidates.pending;
    const { groups, refusal, models, teamId } = caller;
    const bytes = query.kib * 1_024;
    const isAllowed = models?.has(model) !== false;
    const told: RouteExplanation[] = [];
    for (const group of groups) {
      const explained = explainRoute(ctx, { group, model, endpoint: format, teamId, bytes });
      const said = refusal || (isAllowed ? explained.refusal : `令牌的模型范围不包含 ${model}`);
      told.push({ ...(await withKeyNames(ctx, explained)), refusal: say(said, language) });
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
};

function isFormat(text: string): text is RouteFormat {
  return ROUTE_FORMATS.some((format) => format === text);
}

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

/** How many keys of a channel are named. */
const MOST_KEYS = 100;

/** The keys of the channels that have the model, by name. */
async function withKeyNames(ctx: Context, explained: RouteExplanation): Promise<RouteExplanation> {
  const channels = explained.channels.map(async (channel) => {
    const live = ctx.candidates.byId(channel.id);
    const isAsked = channel.verdict !== "group" && channel.verdict !== "model";
    if (live?.keys === undefined || !isAsked) return channel;
    const page = { status: 0, keyword: "", offset: 0, limit: MOST_KEYS };
    const rows = await listKeys(ctx.db, channel.id, page);
    const keys = rows.map((row) => explainKey(ctx, live, row, explained.model));
    return { ...channel, keys, keys_total: await countKeys(ctx.db, channel.id, page) };
  });
  return { ...explained, channels: await Promise.all(channels) };
}
