// Handlers: the user's own tokens (requirements W3.7), and those of teams as far as the actor's role reaches (requirements O04).

import { groupsOf } from "#contract/group.ts";
import { mayInTeam } from "#contract/team-words.ts";
import { chosenGroups, type Token, TokenStatus, type TokenUpdate, type tokenApi } from "#contract/token.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { openKey } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import type { Membership } from "#server/store/teams.ts";
import {
  countTokens,
  forgetKey,
  holderOf,
  insertToken,
  listTokens,
  removeToken,
  type TokenChange,
  type TokenRow,
  updateToken,
} from "#server/store/tokens.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { holdPayer } from "./team-projects.ts";
import { openGroups, refuseGroups } from "./token-groups.ts";
import { forgetAll, justRotated, rotate } from "./token-keys.ts";
import { enterTeam, type Reached, reachToken, teamsOf } from "./token-reach.ts";
import {
  hintOf,
  type KeyOf,
  newRow,
  notesText,
  opened,
  present,
  refuseSubnet,
  setQuota,
} from "./token-rows.ts";

export const token: Handlers<{ token: typeof tokenApi }>["token"] = {
  async groups(ctx, { actor, query }) {
    const { userId, walletId } = await holderFor(ctx, actor, query.team_id);
    return openGroups(ctx, walletId || userId);
  },

  list: (ctx, call) => showPage(ctx, call, ""),

  search: (ctx, call) => showPage(ctx, call, call.query.keyword),

  async get(ctx, call) {
    const reached = await reachToken(ctx, call.actor, call.params.id);
    const ids = openable(call.actor, [reached.row]);
    return presentOne(
      ctx,
      reached,
      opened(ctx, await ctx.reveals.open(call, "token", ids, teamsOf(reached))),
    );
  },

  async create(ctx, call) {
    const { actor, body } = call;
    const holder = await holderFor(ctx, actor, body.team_id);
    await refuseGroups(ctx, holder.walletId || holder.userId, chosenGroups(body));
    const { row, key } = newRow(ctx, holder, body);
    const id = await ctx.db.transaction().execute(async (tx) => {
      await holdPayer(tx, call, { teamId: holder.teamId, projectId: body.project_id ?? 0 });
      const made = await insertToken(tx, row);
      const { name, remain_quota, unlimited_quota, expired_time, team_id, project_id } = body;
      const detail = { name, remain_quota, unlimited_quota, expired_time, team_id, project_id };
      await audit(ctx, tx, call, { action: "token.create", target: made, detail, teams: holder.teams });
      return made;
    });
    const reached = await reachToken(ctx, actor, id);
    await grant(ctx, actor, reached.row, body.remain_quota);
    return presentOne(ctx, await reachToken(ctx, actor, id), () => key);
  },

  async createMany(ctx, call) {
    const { actor, body } = call;
    const holder = await holderFor(ctx, actor, body.team_id);
    await refuseGroups(ctx, holder.walletId || holder.userId, chosenGroups(body));
    const drafts = Array.from({ length: body.count }, (_, index) =>
      newRow(ctx, holder, { ...body, name: `${body.name}-${index + 1}` }),
    );
    const ids = await ctx.db.transaction().execute(async (tx) => {
      await holdPayer(tx, call, { teamId: holder.teamId, projectId: body.project_id ?? 0 });
      const made: number[] = [];
      for (const { row } of drafts) made.push(await insertToken(tx, row));
      const { name, count, remain_quota, unlimited_quota, expired_time, team_id, project_id } = body;
      const detail = { name, count, remain_quota, unlimited_quota, expired_time, team_id, project_id };
      const target = made.join(",");
      await audit(ctx, tx, call, { action: "token.create", target, detail, teams: holder.teams });
      return made;
    });
    const tokens: Token[] = [];
    for (const [index, id] of ids.entries()) {
      const { row } = await reachToken(ctx, actor, id);
      await grant(ctx, actor, row, body.remain_quota);
      tokens.push(await presentOne(ctx, await reachToken(ctx, actor, id), () => drafts[index]?.key ?? ""));
    }
    return tokens;
  },

  async update(ctx, call) {
    const { actor, query, body } = call;
    const { row: current, team } = await reachToken(ctx, actor, body.id);
    const isToggle = query.status_only !== "";
    if (!isToggle) await refuseNewGroups(ctx, current, body);
    const change = isToggle ? toggle(ctx, current, body.status) : edit(ctx, current, body);
    // After the fields: whether a balance exhausts the token depends on whether it is unlimited now.
    const quota = isToggle ? undefined : changedQuota(current, body);
    const isForgotten = !isToggle && body.shown_once === true && current.key_sealed !== "";
    await ctx.db.transaction().execute(async (tx) => {
      if (change.project_id !== undefined)
        await holdPayer(tx, call, { teamId: team?.id, projectId: change.project_id });
      const isThere = await updateToken(tx, { id: current.id, ...holderOf(current), change });
      if (!isThere) throw faults.notFound("找不到该令牌");
      if (isForgotten) await forget(ctx, tx, current);
      const detail = {
        ...change,
        ...(quota === undefined ? {} : { remain_quota: quota }),
        ...(isForgotten ? { shown_once: true } : {}),
      };
      const act = { action: "token.update", target: current.id, detail, before: current } as const;
      await audit(ctx, tx, call, { ...act, teams: teamsOf({ team }) });
    });
    if (quota !== undefined) await grant(ctx, actor, current, quota);
    await ctx.coord.publish("tokens", String(current.id));
    const reached = await reachToken(ctx, actor, current.id);
    return presentOne(ctx, reached, opened(ctx, new Set(openable(actor, [reached.row]))));
  },

  rotate,

  forgetAll,

  async remove(ctx, call) {
    const { actor, params } = call;
    const reached = await reachToken(ctx, actor, params.id);
    const { row } = reached;
    await ctx.db.transaction().execute(async (tx) => {
      const isGone = await removeToken(tx, { id: row.id, ...holderOf(row), now: ctx.clock.seconds() });
      if (!isGone) throw faults.notFound("找不到该令牌");
      const detail = { name: row.name };
      await audit(ctx, tx, call, { action: "token.delete", target: row.id, detail, teams: teamsOf(reached) });
    });
    await ctx.coord.publish("tokens", String(params.id));
    return null;
  },
};

/** Columns that sort downwards. */
export const DOWNWARDS: readonly string[] = ["remain_quota", "used_quota"];

/** A page of the user's own tokens, or of a team's; opening keys is counted and logged. */
async function showPage(
  ctx: Context,
  call: Call<typeof tokenApi.list | typeof tokenApi.search>,
  prefix: string,
) {
  const { actor, query } = call;
  const team =
    query.team_id === 0
      ? undefined
      : await enterTeam(ctx, { actor, params: { id: query.team_id } }, { right: "token" });
  const { tag, status } = query;
  const shown = status === 0 ? undefined : { status, nowSec: ctx.clock.seconds() };
  const filter = { ...whose(actor, team), prefix, tag, shown, ...madeOf(query) };
  const rows = await listTokens(ctx.db, { ...filter, ...sortedPage(query, DOWNWARDS) });
  // A file has no keys: nothing is opened for it.
  const ids = query.export ? [] : openable(actor, rows);
  const keys = query.export
    ? new Set<number>()
    : await ctx.reveals.open(call, "token", ids, teamsOf({ team }));
  const data = await present(ctx, rows, opened(ctx, keys), team);
  return { data, ...(await totalBeside(query, () => countTokens(ctx.db, filter))) };
}

/** Which tokens an actor is shown: of a team all, where his role may see those of others. */
function whose(actor: Actor, team: Membership | undefined) {
  if (team === undefined) return { userId: actor.id };
  const { wallet_id: walletId } = team;
  return mayInTeam(team.role, "tokens") ? { walletId } : { userId: actor.id, walletId };
}

/** Those whose keys can be opened at all; no user is shown the key of another. */
function openable(actor: Actor, rows: readonly TokenRow[]): number[] {
  return rows.filter((row) => row.key_sealed !== "" && row.user_id === actor.id).map(({ id }) => id);
}

async function presentOne(ctx: Context, { row, team }: Reached, keyOf: KeyOf): Promise<Token> {
  const [shown] = await present(ctx, [row], keyOf, team);
  if (!shown) throw faults.notFound("找不到该令牌");
  return shown;
}

/** Who holds a new token, and the wallet that is to pay for it. Throws: when the actor may not make tokens of this team. */
async function holderFor(ctx: Context, actor: Actor, teamId = 0) {
  const own = { userId: actor.id, madeBy: 0, walletId: 0, teamId: undefined, teams: [] };
  if (teamId === 0) return own;
  const team = await enterTeam(ctx, { actor, params: { id: teamId } }, { right: "token" });
  return { ...own, walletId: team.wallet_id, teamId: team.id, teams: [team.id] };
}

/** What a token may spend is granted on the account that pays for it. */
function grant(ctx: Context, { id }: Actor, row: TokenRow, quota: number): Promise<void> {
  const userId = row.wallet_id === 0 ? row.user_id : row.wallet_id;
  return setQuota(ctx, { tokenId: row.id, userId, actorId: id }, quota);
}

type Life = Pick<Token, "expired_time" | "remain_quota" | "unlimited_quota">;

function isExpired(ctx: Context, { expired_time }: Life): boolean {
  return expired_time !== -1 && expired_time <= ctx.clock.seconds();
}

function isExhausted({ remain_quota, unlimited_quota }: Life): boolean {
  return !unlimited_quota && remain_quota <= 0;
}

/** Enabling or disabling by hand; refused while there is a reason not to be enabled (requirements W3.7). */
function toggle(ctx: Context, row: TokenRow, status: number | undefined): TokenChange {
  if (status !== TokenStatus.enabled && status !== TokenStatus.disabled) throw faults.invalid();
  const life = { ...row, unlimited_quota: row.unlimited_quota === 1 };
  if (status === TokenStatus.enabled && isExpired(ctx, life))
    throw faults.refused("令牌已到期，请先修改有效期");
  if (status === TokenStatus.enabled && isExhausted(life))
    throw faults.refused("令牌额度已用完，请先增加额度");
  return { status };
}

/** The fields of the form; a token that had expired or run out is enabled again when the edit removes the cause. */
function edit(ctx: Context, row: TokenRow, body: TokenUpdate): TokenChange {
  refuseSubnet(body.subnet);
  const life = {
    expired_time: body.expired_time ?? row.expired_time,
    remain_quota: changedQuota(row, body) ?? row.remain_quota,
    unlimited_quota: body.unlimited_quota ?? row.unlimited_quota === 1,
  };
  const wasStopped = row.status === TokenStatus.expired || row.status === TokenStatus.exhausted;
  const isUsable = !isExpired(ctx, life) && !isExhausted(life);
  const groups = chosenGroups(body);
  return {
    expired_time: life.expired_time,
    unlimited_quota: Number(life.unlimited_quota),
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.models === undefined ? {} : { models: body.models ?? "" }),
    ...(body.subnet === undefined ? {} : { subnet: body.subnet }),
    ...(groups === undefined ? {} : { groups: groups.join(",") }),
    ...projectChange(row, body),
    ...(body.tags === undefined ? {} : { tags: body.tags }),
    ...(body.metadata === undefined ? {} : { metadata: notesText(body.metadata) }),
    ...(wasStopped && isUsable ? { status: TokenStatus.enabled } : {}),
  };
}

/** A project that was closed meanwhile stands in no form's way, as long as the token stays where it is. */
function projectChange(row: TokenRow, { project_id }: TokenUpdate): TokenChange {
  return project_id === undefined || project_id === row.project_id ? {} : { project_id };
}

/** A group that the token has already may have been withdrawn since: it is skipped at its calls, and stands in no form's way. */
async function refuseNewGroups(ctx: Context, row: TokenRow, body: TokenUpdate): Promise<void> {
  const had = groupsOf(row.groups);
  const chosen = chosenGroups(body)?.filter((name) => !had.includes(name));
  await refuseGroups(ctx, row.wallet_id === 0 ? row.user_id : row.wallet_id, chosen);
}

/** The new balance; undefined = unchanged. Calls may have spent some since the form was opened (requirements W3.7). */
function changedQuota(row: TokenRow, body: TokenUpdate): number | undefined {
  const isKept = body.remain_quota === row.remain_quota || body.remain_quota === body.original_remain_quota;
  return isKept ? undefined : body.remain_quota;
}

/** Its owner wants the key never to be shown again (requirements K11). Throws: when it was rotated meanwhile. */
async function forget(ctx: Context, tx: Db, row: TokenRow): Promise<void> {
  const key_hint = hintOf(openKey(ctx.secrets, row, "tokens.key"));
  if (!(await forgetKey(tx, { ...row, key_hint }))) throw justRotated();
}
