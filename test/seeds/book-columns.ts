// The columns of the tables of statements, payouts, invoices, reminders and tasks, kept equal to the store's types by the compiler.
import type { Tables } from "#server/store/tables.ts";

type Columns = {
  [Table in
    | "statements"
    | "payouts"
    | "invoices"
    | "invoice_profiles"
    | "plan_reminders"
    | "tasks"
    | "stored_responses"
    | "files"
    | "file_parts"
    | "batch_parts"]: {
    [Column in keyof Tables[Table]]: true;
  };
};

export const bookColumns: Columns = {
  statements: {
    id: true,
    user_id: true,
    month: true,
    from_row: true,
    to_row: true,
    opening: true,
    closing: true,
    body: true,
    trail_hash: true,
    created_at: true,
    account_name: true,
    buyer_sealed: true,
  },
  payouts: {
    id: true,
    user_id: true,
    micro: true,
    way: true,
    account_sealed: true,
    name_sealed: true,
    state: true,
    note: true,
    actor_id: true,
    created_at: true,
    decided_at: true,
  },
  invoices: {
    id: true,
    user_id: true,
    currency: true,
    amount_minor: true,
    profile_sealed: true,
    state: true,
    number: true,
    link: true,
    note: true,
    actor_id: true,
    created_at: true,
    decided_at: true,
    reverse_asked_at: true,
  },
  plan_reminders: { period_id: true, days: true, sent_at: true },
  invoice_profiles: { user_id: true, profile_sealed: true, updated_at: true },
  files: {
    id: true,
    file_id: true,
    user_id: true,
    payer_id: true,
    channel_id: true,
    key_id: true,
    upstream_sealed: true,
    purpose: true,
    filename: true,
    bytes: true,
    endpoint: true,
    created_at: true,
    expires_at: true,
    deleted_at: true,
    trail: true,
  },
  file_parts: { file_id: true, part: true, model: true, lines: true, facts: true },
  batch_parts: { task_id: true, part: true, request_id: true, sum: true, is_booked: true },
  tasks: {
    id: true,
    task_id: true,
    request_id: true,
    kind: true,
    user_id: true,
    payer_id: true,
    token_id: true,
    channel_id: true,
    key_id: true,
    wire: true,
    model: true,
    upstream_sealed: true,
    result_sealed: true,
    facts: true,
    state: true,
    progress: true,
    outcome: true,
    charge: true,
    is_booked: true,
    code: true,
    message: true,
    misses: true,
    polls: true,
    next_at: true,
    deadline_at: true,
    created_at: true,
    ended_at: true,
    deleted_at: true,
    trail: true,
  },
  stored_responses: {
    id: true,
    response_id: true,
    user_id: true,
    payer_id: true,
    channel_id: true,
    key_id: true,
    model: true,
    expires_at: true,
  },
};
