// The tables of permission sets and of service accounts.
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

export interface ServiceAccountsTable {
  id: Generated<number>;
  name: string;
  key_hash: string;
  /** Names, separated by commas. */
  permissions: string;
  /** Comma-separated; "" = any address. */
  subnet: string;
  created_by: number;
  created_at: number;
  expires_at: number;
  revoked_at: number;
  last_used_at: number;
  last_address: string;
}

export interface StaffTables {
  staff_sets: StaffSetsTable;
  service_accounts: ServiceAccountsTable;
}
