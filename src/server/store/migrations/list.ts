// All migrations in order. Append only: a released one never changes and never moves.
import { init } from "./0001-init.ts";
import type { Migration } from "./migration.ts";

export const MIGRATIONS: readonly Migration[] = [init];
