// All migrations in order. Append only: a released one never changes and never moves.
import { init } from "./0001-init.ts";
import { partner } from "./0002-partner.ts";
import { logins } from "./0003-logins.ts";
import { operations } from "./0004-operations.ts";
import { openings } from "./0005-openings.ts";
import { recentLogs } from "./0006-recent-logs.ts";
import { survivors } from "./0007-survivors.ts";
import { traffic } from "./0008-traffic.ts";
import { logTrail } from "./0009-log-trail.ts";
import { journal } from "./0010-journal.ts";
import { mailboxes } from "./0011-mailboxes.ts";
import { names } from "./0012-names.ts";
import type { Migration } from "./migration.ts";

export const MIGRATIONS: readonly Migration[] = [
  init,
  partner,
  logins,
  operations,
  openings,
  recentLogs,
  survivors,
  traffic,
  logTrail,
  journal,
  mailboxes,
  names,
];
