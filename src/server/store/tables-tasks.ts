// The table of tasks; see tables.ts.
import type { Generated } from "kysely";
import type { TaskState } from "#contract/video.ts";

/** Work that an upstream does in the background (requirements C52). Times in seconds. */
export interface TasksTable {
  id: Generated<number>;
  /** What its client knows it by. */
  task_id: string;
  /** Of its reservation, and of its entry in the ledger. */
  request_id: string;
  kind: "video" | "response";
  /** The person. */
  user_id: number;
  /** The account that pays. */
  payer_id: number;
  token_id: number;
  channel_id: number;
  /** Which of the channel's several keys; 0 = its only one. */
  key_id: number;
  wire: string;
  model: string;
  /** Sealed: the upstream's id; "" = none is known. */
  upstream_sealed: string;
  /** Sealed: where the result is; "" = nowhere. */
  result_sealed: string;
  /** JSON: what was asked, and its price of that moment. No prompt. */
  facts: string;
  state: TaskState;
  /** Percent. */
  progress: number;
  /** What becomes of the reservation; decided once. */
  outcome: "" | "charge" | "refund";
  /** Decided with the outcome. Unit: quota. */
  charge: number;
  /** 1 = the ledger has it. */
  is_booked: number;
  /** Why it failed. */
  code: string;
  message: string;
  /** How often in a row the upstream did not know it. */
  misses: number;
  polls: number;
  next_at: number;
  deadline_at: number;
  created_at: number;
  /** 0 = it has not ended. */
  ended_at: number;
  /** Its owner does not want to see it any more; 0 = he does. */
  deleted_at: number;
}

/** A response that its upstream keeps (requirements C60). Nothing of what was said. */
export interface StoredResponsesTable {
  id: Generated<number>;
  /** The upstream's id, by which clients name it. */
  response_id: string;
  user_id: number;
  payer_id: number;
  channel_id: number;
  key_id: number;
  model: string;
  expires_at: number;
}

export interface TaskTables {
  tasks: TasksTable;
  stored_responses: StoredResponsesTable;
}
