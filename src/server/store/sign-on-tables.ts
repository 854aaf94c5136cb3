// The tables of login providers, one interface each; see tables.ts. Times are seconds.
import type { Generated } from "kysely";
import type { TeamRole } from "#contract/team-words.ts";

/** A service that people log in through. Kind and slug never change. */
export interface LoginProvidersTable {
  id: Generated<number>;
  /** The end of its addresses here; unique among those that are not deleted. */
  slug: string;
  kind: string;
  name: string;
  /** 0 or 1. */
  is_enabled: number;
  sort: number;
  /** JSON without secrets. */
  settings: string;
  /** Sealed; "" = none. */
  secret_sealed: string;
  created_at: number;
  updated_at: number;
  /** 0 = not deleted. */
  deleted_at: Generated<number>;
}

/** Who a user is at a provider: (provider, subject) and nothing else identifies (requirements I42). */
export interface IdentitiesTable {
  id: Generated<number>;
  provider_id: number;
  subject: string;
  user_id: number;
  /** As the provider tells it, for people to recognise; proves nothing. */
  email: string;
  /** The group that the provider's rules gave; "" = none. It takes back no other. */
  granted_group: string;
  /** The set of permissions that they gave; 0 = none. */
  granted_set: Generated<number>;
  created_at: number;
  last_login_at: number;
}

/** A link that makes accounts (requirements I38). */
export interface InvitationsTable {
  id: Generated<number>;
  code_hash: string;
  /** The address that the invited person must prove; "" = none. */
  email: string;
  /** Of the new account. */
  group: string;
  /** What the new account is given, in quota units. */
  quota: number;
  max_uses: number;
  used: number;
  created_by: number;
  created_at: number;
  /** Seconds. */
  expires_at: number;
  /** Seconds; 0 = it was not taken back. */
  revoked_at: number;
}

/** A user who proves an address of this domain joins (requirements I65). */
export interface MailDomainsTable {
  id: Generated<number>;
  /** In ASCII and lower case; unique. */
  domain: string;
  /** "" = none. */
  group: string;
  /** 0 = none. */
  team_id: number;
  team_role: TeamRole;
  created_at: number;
}

export interface SignOnTables {
  mail_domains: MailDomainsTable;
  invitations: InvitationsTable;
  login_providers: LoginProvidersTable;
  identities: IdentitiesTable;
}
