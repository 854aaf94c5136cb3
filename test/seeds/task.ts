// Tasks of upstreams as rows, with what they hold in the ledger.
import type { Context } from "#server/context.ts";
import { insertTask, type TaskRow } from "#server/store/tasks.ts";
import { TASK_SEAL } from "#server/tasks/channel.ts";

const FACTS = {
  seconds: 5,
  size: "1080p",
  resolution: "1080p",
  unit: "video",
  ratios: { model: "sora-2", modelRatio: "50", completionRatio: "1", cacheRatio: "1", groupRatio: "1" },
  upstreamModel: "sora-2",
  group: "default",
  isGroupNamed: false,
};

let serial = 0;

/** Makes a task that is under way at a channel. */
export async function seedTask(
  { db, secrets, clock }: Pick<Context, "db" | "secrets" | "clock">,
  owner: Pick<TaskRow, "user_id" | "channel_id">,
  change: Partial<TaskRow> = {},
): Promise<number> {
  serial += 1;
  const now = clock.seconds();
  return insertTask(db, {
    task_id: `video_seeded_${serial}`,
    request_id: `seeded-${serial}`,
    kind: "video",
    payer_id: owner.user_id,
    token_id: 0,
    key_id: 0,
    wire: "openai",
    model: "sora-2",
    upstream_sealed: secrets.seal("up-1", TASK_SEAL),
    result_sealed: "",
    facts: JSON.stringify(FACTS),
    state: "in_progress",
    progress: 40,
    outcome: "",
    charge: 0,
    is_booked: 0,
    code: "",
    message: "",
    misses: 0,
    polls: 0,
    next_at: now + 3_600,
    deadline_at: now + 3_600,
    created_at: now,
    ended_at: 0,
    deleted_at: 0,
    trail: "",
    ...owner,
    ...change,
  });
}
