// The table of permission sets.
import type { Generated } from "kysely";

export interface StaffSetsTable {
  id: Generated<number>;
  name: string;
  /** Names, separated by commas. */
  permissions: string;
  is_built_in: Generated<number>;
  created_at: number;
  updated_at: number;
}

export interface StaffTables {
  staff_sets: StaffSetsTable;
}
