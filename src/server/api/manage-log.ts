// Entries of the usage log that are no calls: management and channel tests.
import { LogType } from "#contract/log.ts";
import type { Context } from "#server/context.ts";
import type { NewLog } from "#server/store/logs.ts";

/** A management entry (type 3) about what an actor did. */
export function manageLog(ctx: Context, actor: { id: number; username: string }, content: string): NewLog {
  return {
    user_id: actor.id,
    created_at: ctx.clock.seconds(),
    type: LogType.manage,
    content,
    username: actor.username,
    token_id: 0,
    token_name: "",
    model_name: "",
    quota: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    channel_id: 0,
    request_id: "",
    elapsed_time: 0,
    first_byte_time: 0,
    is_stream: 0,
    estimated: 0,
  };
}
