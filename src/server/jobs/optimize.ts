// Job: lets SQLite renew what it knows of its tables, once a day; the end of a server does the same. It looks at some hundred rows of
// an index (sqlite.org/pragma.html#pragma_optimize). PostgreSQL does so by itself.
import { sql } from "kysely";
import type { Job } from "./job.ts";

const DAY_MS = 86_400_000;

export const optimize: Job = {
  name: "optimize",
  periodMs: ({ databaseUrl }) => (databaseUrl === undefined ? DAY_MS : 0),
  async run({ db }) {
    await sql`PRAGMA optimize`.execute(db);
    return "statistics renewed";
  },
};
