// The tables of teams; column names are those of the wire.
import type { Generated } from "kysely";
import type { TeamRole } from "#contract/team-words.ts";

/** People who share a wallet (requirements O01). */
export interface TeamsTable {
  id: Generated<number>;
  name: string;
  /** The row of `users` that is its account in the ledger; its group and status are the team's. */
  wallet_id: number;
  /** The member to whom the owner has offered the team; 0 = none. */
  heir_id: number;
  created_at: number;
  /** Seconds; 0 = it is open. */
  closed_at: number;
}

export interface TeamMembersTable {
  /** Caps of the member name it, so that who comes back begins anew. */
  id: Generated<number>;
  team_id: number;
  user_id: number;
  role: TeamRole;
  joined_at: number;
  /** The login provider that put him here, and may take him out again; 0 = people did. */
  provider_id: Generated<number>;
}

export interface TeamInvitationsTable {
  id: Generated<number>;
  team_id: number;
  code_hash: string;
  role: TeamRole;
  max_uses: number;
  used: number;
  created_by: number;
  created_at: number;
  /** Seconds. */
  expires_at: number;
  /** Seconds; 0 = it was not taken back. */
  revoked_at: number;
}

/** What a team's tokens are for. */
export interface TeamProjectsTable {
  id: Generated<number>;
  team_id: number;
  name: string;
  created_at: number;
  /** Seconds; 0 = it is open. */
  closed_at: number;
}

export interface TeamTables {
  teams: TeamsTable;
  team_members: TeamMembersTable;
  team_invitations: TeamInvitationsTable;
  team_projects: TeamProjectsTable;
}
