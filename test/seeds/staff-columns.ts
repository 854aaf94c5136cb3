// The columns of the table of permission sets, kept equal to tables-staff.ts by the compiler.
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
};
