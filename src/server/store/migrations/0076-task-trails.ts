// Why a task, and a file of requests, went to its channel: kept from its submission to its entry in the log (requirements C47). A node of the
// version before leaves the columns empty.
import type { Migration } from "./migration.ts";

const STATEMENTS = [
  "ALTER TABLE tasks ADD COLUMN trail text NOT NULL DEFAULT ''",
  "ALTER TABLE files ADD COLUMN trail text NOT NULL DEFAULT ''",
];

export const taskTrails: Migration = { name: "0076-task-trails", sqlite: STATEMENTS, postgres: STATEMENTS };
