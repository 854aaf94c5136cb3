// The columns of the tables of teams, kept equal to team-tables.ts by the compiler.
import type { TeamTables } from "#server/store/team-tables.ts";

type Columns = {
  [Table in keyof TeamTables]: { [Column in keyof TeamTables[Table]]: true };
};

export const teamColumns: Columns = {
  teams: { id: true, name: true, wallet_id: true, heir_id: true, created_at: true, closed_at: true },
  team_members: {
    id: true,
    team_id: true,
    user_id: true,
    role: true,
    joined_at: true,
    provider_id: true,
  },
  team_projects: { id: true, team_id: true, name: true, created_at: true, closed_at: true },
  team_invitations: {
    id: true,
    team_id: true,
    code_hash: true,
    role: true,
    max_uses: true,
    used: true,
    created_by: true,
    created_at: true,
    expires_at: true,
    revoked_at: true,
  },
};
