// Domains of mail that lead into a group and a team. Rows only.
import type { Insertable, Selectable, Updateable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { MailDomainsTable } from "./sign-on-tables.ts";

export type MailDomainRow = Selectable<MailDomainsTable>;

/** All with the names of their open teams, by domain. */
export function listMailDomains(db: Db) {
  return db
    .selectFrom("mail_domains")
    .leftJoin("teams", (join) =>
      join.onRef("teams.id", "=", "mail_domains.team_id").on("teams.closed_at", "=", 0),
    )
    .selectAll("mail_domains")
    .select("teams.name as team_name")
    .orderBy("domain")
    .execute();
}

export function findMailDomain(db: Db, id: number): Promise<MailDomainRow | undefined> {
  return db.selectFrom("mail_domains").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The row of a whole domain. */
export function findByDomain(db: Db, domain: string): Promise<MailDomainRow | undefined> {
  return db.selectFrom("mail_domains").selectAll().where("domain", "=", domain).executeTakeFirst();
}

/** Returns the id. Throws: an error that `isTaken` recognises when the domain has a row. */
export async function insertMailDomain(tx: Db, row: Insertable<MailDomainsTable>): Promise<number> {
  const { id } = await tx.insertInto("mail_domains").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** Returns whether it was there. Throws: as `insertMailDomain`. */
export function updateMailDomain(tx: Db, id: number, change: Updateable<MailDomainsTable>): Promise<boolean> {
  return changesOne(tx.updateTable("mail_domains").set(change).where("id", "=", id));
}

export async function deleteMailDomain(tx: Db, id: number): Promise<void> {
  await tx.deleteFrom("mail_domains").where("id", "=", id).execute();
}
