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
  kind: "video" | "response" | "batch";
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
  /** Why it went to its channel, as the log keeps it of calls (failed-attempts.ts). */
  trail: string;
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

/** A file of a client that an upstream keeps: of requests, or of their answers. Nothing of what stands in it. */
export interface FilesTable {
  id: Generated<number>;
  /** What its client knows it by. */
  file_id: string;
  user_id: number;
  payer_id: number;
  channel_id: number;
  key_id: number;
  /** Sealed: the upstream's id. */
  upstream_sealed: string;
  purpose: "batch" | "batch_output";
  filename: string;
  /** 0 = not known. */
  bytes: number;
  /** The path that all its lines ask for; "" of answers. */
  endpoint: string;
  created_at: number;
  expires_at: number;
  deleted_at: number;
  /** Why it went to its channel: batches of it go there too; "" of answers. */
  trail: string;
}

/** Up to a thousand lines of a file that name one model. */
export interface FilePartsTable {
  /** Of the row in `files`. */
  file_id: number;
  part: number;
  model: string;
  lines: number;
  /** JSON: of each line what is counted (`LineFacts`). */
  facts: string;
}

/** What is set aside, and booked, for a part of a file in a batch. */
export interface BatchPartsTable {
  /** Of the row in `tasks`. */
  task_id: number;
  part: number;
  /** Of its reservation, and of its entry in the ledger. */
  request_id: string;
  /** JSON: what its lines come to (`PartSum`), decided with the outcome of the task; "" = nothing is decided, or nothing is charged. */
  sum: string;
  /** 1 = the ledger has it. */
  is_booked: number;
}

export interface TaskTables {
  tasks: TasksTable;
  stored_responses: StoredResponsesTable;
  files: FilesTable;
  file_parts: FilePartsTable;
  batch_parts: BatchPartsTable;
}
