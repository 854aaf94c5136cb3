// The columns of invitations, kept equal to sign-on-tables.ts by the compiler.
import type { SignOnTables } from "#server/store/sign-on-tables.ts";

type Columns = { invitations: { [Column in keyof SignOnTables["invitations"]]: true } };

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
};
