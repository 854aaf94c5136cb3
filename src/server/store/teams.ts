// Teams, their wallets and members. Rows only; what a role may do is in the contract, and what is in a wallet is written by `money`.
import { sql } from "kysely";
import type { TeamRole } from "#contract/team-words.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { changesOne } from "./change.ts";
import { type Db, isPostgres, sumInt } from "./db.ts";
import { inParts } from "./in-parts.ts";
import { endLimitsOf } from "./limits.ts";
import { bounds, idOf, keywordOf, type Page, startsWith } from "./page.ts";
import { lockRows } from "./row-locks.ts";

const TEAM = [
  "teams.id as id",
  "teams.name as name",
  "teams.wallet_id as wallet_id",
  "teams.heir_id as heir_id",
  "teams.created_at as created_at",
  "teams.closed_at as closed_at",
  "wallets.group as group",
  "wallets.status as status",
  "wallets.quota as quota",
  "wallets.used_quota as used_quota",
  "wallets.request_count as request_count",
] as const;

function withWallets(db: Db) {
  return db.selectFrom("teams").innerJoin("users as wallets", "wallets.id", "teams.wallet_id");
}

/** A team with what its wallet has. */
export type TeamRow = NonNullable<Awaited<ReturnType<typeof findTeam>>>;

/** A team as one of its members sees it. */
export type Membership = NonNullable<Awaited<ReturnType<typeof findMembership>>>;

export function findTeam(db: Db, id: number) {
  return withWallets(db).select(TEAM).where("teams.id", "=", id).executeTakeFirst();
}

function memberships(db: Db, userId: number) {
  return withWallets(db)
    .innerJoin("team_members", "team_members.team_id", "teams.id")
    .where("team_members.user_id", "=", userId)
    .where("teams.closed_at", "=", 0)
    .select(TEAM)
    .select(["team_members.role as role", "team_members.id as seat_id"]);
}

/** The open team with this id, or with this wallet, if the user is a member. */
export function findMembership(db: Db, userId: number, of: { team: number } | { wallet: number }) {
  const query = memberships(db, userId);
  const found =
    "team" in of ? query.where("teams.id", "=", of.team) : query.where("wallets.id", "=", of.wallet);
  return found.executeTakeFirst();
}

/** The open teams of a user, oldest first. */
export function listMemberships(db: Db, userId: number) {
  return memberships(db, userId).orderBy("teams.id").execute();
}

/** Keeps a team as it is until the transaction ends: a call that changes its members meanwhile waits. Returns whether it is open. */
export async function holdTeam(tx: Db, id: number): Promise<boolean> {
  const query = tx.selectFrom("teams").select("id").where("id", "=", id).where("closed_at", "=", 0);
  // On SQLite the transaction itself has the only writer.
  return (await (isPostgres(tx) ? query.forUpdate() : query).executeTakeFirst()) !== undefined;
}

/** Makes a team with its wallet, which has nothing yet, and its owner; inside a transaction. Returns its id. */
export async function insertTeam(
  tx: Db,
  team: { name: string; group: string; ownerId: number; now: number; tail: string },
): Promise<number> {
  const { name, group, ownerId, now } = team;
  const wallet = await tx
    .insertInto("users")
    .values({
      username: `#${team.tail}`,
      password: "",
      display_name: "",
      role: Role.user,
      status: UserStatus.enabled,
      email: "",
      github_id: "",
      wechat_id: "",
      access_token_hash: null,
      group,
      aff_code: "",
      inviter_id: 0,
      created_at: now,
      is_wallet: 1,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { id } = await tx
    .insertInto("teams")
    .values({ name, wallet_id: wallet.id, heir_id: 0, created_at: now, closed_at: 0 })
    .returning("id")
    .executeTakeFirstOrThrow();
  // No user name has a `#`: no user is mistaken for a team in the logs of administrators.
  await tx
    .updateTable("users")
    .set({ username: `团队#${id}` })
    .where("id", "=", wallet.id)
    .execute();
  await insertMember(tx, { teamId: id, userId: ownerId, role: "owner", now });
  return id;
}

/** Throws: an error that `isTaken` recognises when he is one. */
export async function insertMember(
  tx: Db,
  member: { teamId: number; userId: number; role: TeamRole; now: number; providerId?: number },
): Promise<void> {
  const { teamId, userId, role, now, providerId = 0 } = member;
  await tx
    .insertInto("team_members")
    .values({ team_id: teamId, user_id: userId, role, joined_at: now, provider_id: providerId })
    .execute();
}

export async function updateTeam(
  tx: Db,
  id: number,
  change: { name?: string; heir_id?: number; closed_at?: number },
): Promise<void> {
  await tx.updateTable("teams").set(change).where("id", "=", id).execute();
}

/** Group and status are the wallet's. */
export async function updateWallet(
  tx: Db,
  walletId: number,
  change: { group?: string; status?: number },
): Promise<void> {
  await tx.updateTable("users").set(change).where("id", "=", walletId).where("is_wallet", "=", 1).execute();
}

const MEMBER = [
  "team_members.id as seat_id",
  "team_members.user_id as user_id",
  "team_members.role as role",
  "team_members.joined_at as joined_at",
  "team_members.provider_id as provider_id",
  "users.username as username",
  "users.display_name as display_name",
  "users.status as status",
] as const;

function members(db: Db, teamId: number) {
  return db
    .selectFrom("team_members")
    .innerJoin("users", "users.id", "team_members.user_id")
    .select(MEMBER)
    .where("team_members.team_id", "=", teamId);
}

/** Everybody of a team, in the order they came. */
export function listMembers(db: Db, teamId: number) {
  return members(db, teamId).orderBy("team_members.id").execute();
}

export type MemberRow = Awaited<ReturnType<typeof listMembers>>[number];

export function findMember(db: Db, teamId: number, userId: number): Promise<MemberRow | undefined> {
  return members(db, teamId).where("team_members.user_id", "=", userId).executeTakeFirst();
}

/** The teams that a user is in by a login provider. */
export async function listSeatsBy(tx: Db, userId: number, providerId: number): Promise<number[]> {
  const rows = await tx
    .selectFrom("team_members")
    .select("team_id")
    .where("user_id", "=", userId)
    .where("provider_id", "=", providerId)
    .execute();
  return rows.map(({ team_id }) => team_id);
}

/** How many are in each of these teams. */
export async function countMembers(db: Db, teamIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (teamIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("team_members")
    .select(["team_id", sql<number>`count(*)`.as("total")])
    .where("team_id", "in", teamIds)
    .groupBy("team_id")
    .execute();
  return new Map(rows.map(({ team_id, total }) => [team_id, total]));
}

/** Gives a member who still has the role that was seen another one; from now on he is there by `providerId`, 0 = by people. Returns whether he had. */
export async function changeRole(
  tx: Db,
  teamId: number,
  change: { userId: number; from: TeamRole; to: TeamRole; providerId?: number },
): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("team_members")
      .set({ role: change.to, provider_id: change.providerId ?? 0 })
      .where("team_id", "=", teamId)
      .where("user_id", "=", change.userId)
      .where("role", "=", change.from),
  );
}

/**
 * Ends a membership of a team that is held: the member's tokens go to `heir`, or with 0 end, and then his caps, in the order in which the
 * ledger locks them. Returns the ids of the tokens; undefined = he is no member, or has no longer the role that was seen, and nothing is
 * changed.
 */
export async function removeMember(
  tx: Db,
  team: Pick<TeamRow, "id" | "wallet_id">,
  member: { userId: number; role: TeamRole; heir: number; now: number },
): Promise<number[] | undefined> {
  const { userId, role, heir, now } = member;
  const found = await findMember(tx, team.id, userId);
  if (found?.role !== role) return undefined;
  const tokens = await passTokens(tx, { walletId: team.wallet_id, userId, heir, now });
  await endLimitsOf(tx, { subject: "seat", ids: [found.seat_id] }, now);
  await tx.deleteFrom("team_members").where("id", "=", found.seat_id).execute();
  const offered = tx.updateTable("teams").set({ heir_id: 0 }).where("id", "=", team.id);
  await offered.where("heir_id", "=", userId).execute();
  return tokens;
}

/** The tokens of a member that the wallet pays for go to another one, keys unchanged, or with `heir` 0 end. Returns their ids. */
export async function passTokens(
  tx: Db,
  tokens: { walletId: number; userId?: number; heir: number; now: number },
): Promise<number[]> {
  const { walletId, userId, heir, now } = tokens;
  let query = tx
    .selectFrom("tokens")
    .select("id")
    .where("wallet_id", "=", walletId)
    .where("deleted_at", "=", 0);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  const ids = (await query.execute()).map(({ id }) => id);
  await lockRows(tx, "tokens", ids);
  const changed = await inParts(ids, (some) =>
    tx
      .updateTable("tokens")
      .set(heir === 0 ? { deleted_at: now, key_sealed: "" } : { user_id: heir })
      .where("id", "in", some)
      .where("deleted_at", "=", 0)
      .returning("id")
      .execute(),
  );
  return changed.map(({ id }) => id);
}

/** The open teams that a user owns: his account cannot go before each has another owner, or is closed. */
export async function countOwned(db: Db, userId: number): Promise<number> {
  const { total } = await db
    .selectFrom("team_members")
    .innerJoin("teams", "teams.id", "team_members.team_id")
    .select(sql<number>`count(*)`.as("total"))
    .where("team_members.user_id", "=", userId)
    .where("team_members.role", "=", "owner")
    .where("teams.closed_at", "=", 0)
    .executeTakeFirstOrThrow();
  return total;
}

/** The teams a user is a member of. */
export async function teamsOfUser(db: Db, userId: number): Promise<number[]> {
  const rows = await db
    .selectFrom("team_members")
    .select("team_id")
    .where("user_id", "=", userId)
    .orderBy("team_id")
    .execute();
  return rows.map(({ team_id }) => team_id);
}

/** The team that a wallet is of; none of a person's own account. */
export async function teamsOfWallet(db: Db, walletId: number): Promise<number[]> {
  if (walletId === 0) return [];
  const rows = await db.selectFrom("teams").select("id").where("wallet_id", "=", walletId).execute();
  return rows.map(({ id }) => id);
}

/**
 * Ends all memberships of a user who goes, and what limits them; inside a transaction, after his tokens, as the ledger locks them. Unit of
 * `now`: seconds.
 */
export async function leaveTeams(tx: Db, userId: number, now: number): Promise<void> {
  const seats = await tx.selectFrom("team_members").select("id").where("user_id", "=", userId).execute();
  await endLimitsOf(tx, { subject: "seat", ids: seats.map(({ id }) => id) }, now);
  await tx.deleteFrom("team_members").where("user_id", "=", userId).execute();
  await tx.updateTable("teams").set({ heir_id: 0 }).where("heir_id", "=", userId).execute();
}

/** Closed teams whose wallet has something again: calls that were running gave back what they had set aside. */
export async function findUnsettled(db: Db): Promise<{ id: number; wallet_id: number; owner_id: number }[]> {
  return db
    .selectFrom("teams")
    .innerJoin("users as wallets", "wallets.id", "teams.wallet_id")
    .innerJoin("team_members", (join) =>
      join.onRef("team_members.team_id", "=", "teams.id").on("team_members.role", "=", "owner"),
    )
    .select(["teams.id as id", "teams.wallet_id as wallet_id", "team_members.user_id as owner_id"])
    .where("teams.closed_at", ">", 0)
    .where("wallets.quota", ">", 0)
    .execute();
}

/** What calls of each member came to in hours that begin within the span. Unit: seconds. */
export async function sumMembers(
  db: Db,
  walletId: number,
  span: { start: number; before: number },
): Promise<ReadonlyMap<number, { quota: number; requests: number }>> {
  const rows = await db
    .selectFrom("log_sums")
    .select((select) => [
      "key",
      sumInt(select.ref("quota")).as("quota"),
      sumInt(select.ref("requests")).as("requests"),
    ])
    .where("dimension", "=", "member")
    .where("key", "like", `${walletId} %`)
    .where("hour", ">=", span.start)
    .where("hour", "<", span.before)
    .groupBy("key")
    .execute();
  return new Map(rows.map(({ key, ...sums }) => [Number(key.split(" ")[1]), sums]));
}

export interface TeamFilter {
  /** Id, or the head of the name; "" = all. */
  readonly keyword: string;
}

function filtered(db: Db, filter: TeamFilter) {
  const keyword = keywordOf(filter.keyword);
  const query = withWallets(db)
    .innerJoin("team_members as owners", (join) =>
      join.onRef("owners.team_id", "=", "teams.id").on("owners.role", "=", "owner"),
    )
    .innerJoin("users as people", "people.id", "owners.user_id");
  if (keyword === "") return query;
  return query.where((where) =>
    where.or([where("teams.id", "=", idOf(keyword) ?? 0), startsWith(db, "teams.name", keyword)]),
  );
}

/** All teams with their owners, newest first. */
export function listTeams(db: Db, args: TeamFilter & Page) {
  const { limit, offset } = bounds(args);
  return filtered(db, args)
    .select(TEAM)
    .select(["owners.user_id as owner_id", "people.username as owner_name"])
    .orderBy("teams.id", "desc")
    .limit(limit)
    .offset(offset)
    .execute();
}

export async function countTeams(db: Db, filter: TeamFilter): Promise<number> {
  const { total } = await filtered(db, filter)
    .select(sql<number>`count(*)`.as("total"))
    .executeTakeFirstOrThrow();
  return total;
}
