// Teams for tests of the ledger and of calls: a wallet, and people whose tokens it pays for.
import type { TeamRole } from "#contract/team-words.ts";
import type { Ledger } from "#server/money/ledger.ts";
import type { Db } from "#server/store/db.ts";
import { seedToken, seedUser } from "./stores.ts";

let serial = 0;

/** A team with money in its wallet. Returns its id and the wallet's. */
export async function seedTeam(
  db: Db,
  ledger: Ledger,
  { quota, group = "default" }: { quota: bigint; group?: string },
): Promise<{ teamId: number; walletId: number }> {
  serial += 1;
  const name = `team${serial}`;
  const walletId = await seedUser(db, { username: `wallet ${name}`, group });
  await db.updateTable("users").set({ is_wallet: 1 }).where("id", "=", walletId).execute();
  const team = await db
    .insertInto("teams")
    .values({ name, wallet_id: walletId, heir_id: 0, created_at: 1_800_000_000, closed_at: 0 })
    .returning("id")
    .executeTakeFirstOrThrow();
  if (quota > 0n) {
    const grant = { userId: walletId, kind: "grant", quota: { delta: quota }, actorId: walletId } as const;
    await ledger.adjust({ ...grant, reason: "test" });
  }
  return { teamId: team.id, walletId };
}

/** Makes a user a member of the team of a wallet, unless he is one. */
export async function seedMember(
  db: Db,
  userId: number,
  walletId: number,
  role: TeamRole = "member",
): Promise<void> {
  const { id } = await db
    .selectFrom("teams")
    .select("id")
    .where("wallet_id", "=", walletId)
    .executeTakeFirstOrThrow();
  await db
    .insertInto("team_members")
    .values({ team_id: id, user_id: userId, role, joined_at: 1_800_000_000 })
    .onConflict((conflict) => conflict.columns(["team_id", "user_id"]).doNothing())
    .execute();
}

/** Lets a team's wallet pay for a token from now on; `userId` = it becomes another person's too. */
export async function moveToken(
  db: Db,
  tokenId: number,
  change: { readonly wallet_id: number; readonly user_id?: number; readonly project_id?: number },
): Promise<void> {
  await db.updateTable("tokens").set(change).where("id", "=", tokenId).execute();
}

/** A project of the team of a wallet. Returns its id. */
export async function seedProject(db: Db, walletId: number): Promise<number> {
  serial += 1;
  const teams = db.selectFrom("teams").select("id").where("wallet_id", "=", walletId);
  const { id: team_id } = await teams.executeTakeFirstOrThrow();
  const row = { team_id, name: `project${serial}`, created_at: 1_800_000_000, closed_at: 0 };
  const { id } = await db.insertInto("team_projects").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** An unlimited token of a person that a team pays for; the person becomes a member. */
export async function seedTeamToken(db: Db, userId: number, walletId: number): Promise<number> {
  const tokenId = await seedToken(db, userId, { unlimited_quota: 1 });
  await moveToken(db, tokenId, { wallet_id: walletId });
  await seedMember(db, userId, walletId);
  return tokenId;
}
