// The columns of invitations and domains of mail, kept equal to sign-on-tables.ts by the compiler.
import type { SignOnTables } from "#server/store/sign-on-tables.ts";

type Columns = {
  [Table in "invitations" | "mail_domains"]: { [Column in keyof SignOnTables[Table]]: true };
};

export const invitationColumns: Columns = {
  invitations: {
    id: true,
    code_hash: true,
    email: true,
    group: true,
    quota: true,
    max_uses: true,
    used: true,
    created_by: true,
    created_at: true,
    expires_at: true,
    revoked_at: true,
  },
  mail_domains: { id: true, domain: true, group: true, team_id: true, team_role: true, created_at: true },
};
