// The columns of the tables of permission sets and service accounts, kept equal to tables-staff.ts by the compiler.
import type { StaffTables } from "#server/store/tables-staff.ts";

type Columns = {
  [Table in keyof StaffTables]: { [Column in keyof StaffTables[Table]]: true };
};

export const staffColumns: Columns = {
  staff_sets: {
    id: true,
    name: true,
    permissions: true,
    is_built_in: true,
    created_at: true,
    updated_at: true,
  },
  service_accounts: {
    id: true,
    name: true,
    key_hash: true,
    permissions: true,
    subnet: true,
    created_by: true,
    created_at: true,
    expires_at: true,
    revoked_at: true,
    last_used_at: true,
    last_address: true,
  },
};
