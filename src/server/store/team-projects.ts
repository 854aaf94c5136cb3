// Projects of teams. Rows only: what a role may do is in the contract, and what a project's calls cost is written by `money`.
import { type Selectable, sql } from "kysely";
import { changesOne } from "./change.ts";
import { type Db, sumInt } from "./db.ts";
import { endLimitsOf } from "./limits.ts";
import type { TeamProjectsTable } from "./team-tables.ts";

export type ProjectRow = Selectable<TeamProjectsTable>;

/** The open projects of a team, the oldest first. */
export function listProjects(db: Db, teamId: number): Promise<ProjectRow[]> {
  return db
    .selectFrom("team_projects")
    .selectAll()
    .where("team_id", "=", teamId)
    .where("closed_at", "=", 0)
    .orderBy("id")
    .execute();
}

/** An open project, if it is of this team. */
export function findProject(db: Db, teamId: number, id: number): Promise<ProjectRow | undefined> {
  return db
    .selectFrom("team_projects")
    .selectAll()
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .where("closed_at", "=", 0)
    .executeTakeFirst();
}

/** Returns the id. Throws: an error that `isTaken` recognises when an open one of the team has this name. */
export async function insertProject(tx: Db, row: Omit<ProjectRow, "id">): Promise<number> {
  const insert = tx.insertInto("team_projects").values(row).returning("id");
  return (await insert.executeTakeFirstOrThrow()).id;
}

/** Throws: as `insertProject`. */
export function renameProject(tx: Db, id: number, name: string): Promise<boolean> {
  return changesOne(tx.updateTable("team_projects").set({ name }).where("id", "=", id));
}

/** Ends a project, and what limits it. Its row stays for reports. Unit of `now`: seconds. */
export async function closeProject(tx: Db, id: number, now: number): Promise<void> {
  await tx.updateTable("team_projects").set({ closed_at: now }).where("id", "=", id).execute();
  await endLimitsOf(tx, { subject: "project", ids: [id] }, now);
}

/** How many living tokens belong to each of these projects. */
export async function countProjectTokens(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("tokens")
    .select(["project_id", sql<number>`count(*)`.as("total")])
    .where("project_id", "in", ids)
    .where("deleted_at", "=", 0)
    .groupBy("project_id")
    .execute();
  return new Map(rows.map(({ project_id, total }) => [project_id, total]));
}

/** What calls of each project of a team, also of closed ones, came to in hours that begin within the span. Unit: seconds. */
export function sumProjects(db: Db, teamId: number, span: { start: number; before: number }) {
  return db
    .selectFrom("log_sums")
    .innerJoin("team_projects", (join) =>
      join.on(sql`cast(team_projects.id as text)`, "=", sql.ref("log_sums.key")),
    )
    .select((select) => [
      "team_projects.id as project_id",
      "team_projects.name as name",
      sumInt(select.ref("log_sums.quota")).as("quota"),
      sumInt(select.ref("log_sums.requests")).as("requests"),
    ])
    .where("dimension", "=", "project")
    .where("team_projects.team_id", "=", teamId)
    .where("hour", ">=", span.start)
    .where("hour", "<", span.before)
    .groupBy(["team_projects.id", "team_projects.name"])
    .execute();
}
