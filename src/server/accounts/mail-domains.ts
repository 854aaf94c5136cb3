// Joining by domain of mail (requirements I65): a user who proves an address of a domain that the operator named gets its group and is in
// its team. The address must be proved by us, or by a provider that may speak for the domain; the domain is compared as a whole.
import type { TeamRole } from "#contract/team-words.ts";
import type { Db } from "#server/store/db.ts";
import { findByDomain, type MailDomainRow } from "#server/store/mail-domains.ts";
import { findMember, holdTeam, insertMember } from "#server/store/teams.ts";

/** What an address brought; for the audit log. */
export interface Joined {
  readonly domain: string;
  /** "" = none. */
  readonly group: string;
  /** Undefined = none, or none that is open, or he is in it already. */
  readonly team?: { readonly id: number; readonly role: TeamRole };
}

/** What the domain of a proved address leads to; undefined = nothing. */
export function domainOf(db: Db, provedEmail: string): Promise<MailDomainRow | undefined> {
  const domain = provedEmail.slice(provedEmail.lastIndexOf("@") + 1);
  return domain === "" ? Promise.resolve(undefined) : findByDomain(db, domain);
}

/** Puts a user into the team of a domain, in the transaction that proves the address. */
export async function joinByDomain(
  tx: Db,
  row: MailDomainRow,
  { userId, group, now }: { userId: number; group: string; now: number },
): Promise<Joined> {
  const joined = { domain: row.domain, group };
  const { team_id: id, team_role: role } = row;
  if (id === 0 || !(await holdTeam(tx, id)) || (await findMember(tx, id, userId))) return joined;
  await insertMember(tx, { teamId: id, userId, role, now });
  return { ...joined, team: { id, role } };
}
