// What a channel test records: the response time on the channel and an entry of type 5 in the usage log, which is
// charged to no user (requirements M32).
import { LogType } from "#contract/log.ts";
import { type ChannelRow, setChannelTest } from "#server/store/channels.ts";
import { insertLog } from "#server/store/logs.ts";
import type { Tools } from "#server/tools.ts";
import type { Probe } from "./probe.ts";

/** The actor that started the test; id 0 = the server itself. */
export interface Tester {
  readonly id: number;
  readonly username: string;
}

export const scheduledTester: Tester = { id: 0, username: "" };

/** Records the outcome of one test. */
export async function recordTest(
  ctx: Pick<Tools, "db" | "clock">,
  tester: Tester,
  channel: Pick<ChannelRow, "id" | "name">,
  outcome: Probe,
): Promise<void> {
  const now = ctx.clock.seconds();
  if (outcome.ok) await setChannelTest(ctx.db, channel.id, { responseTimeMs: outcome.ms, now });
  const said = outcome.ok ? "成功" : `失败：${outcome.message}`;
  await insertLog(ctx.db, {
    user_id: tester.id,
    created_at: now,
    type: LogType.test,
    content: `测试渠道 ${channel.name}（${said}）`,
    username: tester.username,
    token_id: 0,
    token_name: "",
    model_name: outcome.model,
    quota: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    channel_id: channel.id,
    request_id: "",
    elapsed_time: outcome.ms,
    first_byte_time: 0,
    is_stream: 0,
    estimated: 0,
    trail: "",
  });
}
