// Entries of the usage log that are no calls: management and channel tests.
import { LogType } from "#contract/log.ts";
import type { Context } from "#server/context.ts";
import type { NewLog } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";

/** A management entry (type 3) about what an actor did. */
export function manageLog(ctx: Context, actor: { id: number; username: string }, content: string): NewLog {
  return {
    ...NO_CALL,
    user_id: actor.id,
    created_at: ctx.clock.seconds(),
    type: LogType.manage,
    content,
    username: actor.username,
  };
}
