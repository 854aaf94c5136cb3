// Which reminder of the end of a plan was sent last (requirements Y66).
import type { Migration } from "./migration.ts";

function statements(int: string, strict: string): string[] {
  return [
    `CREATE TABLE plan_reminders (
      period_id ${int} PRIMARY KEY,
      days ${int} NOT NULL,
      sent_at ${int} NOT NULL
    )${strict}`,
  ];
}

export const planReminders: Migration = {
  name: "0038-plan-reminders",
  sqlite: statements("integer", " STRICT"),
  postgres: statements("bigint", ""),
};
