// What margins are summed by, in words.
import type { MarginBy } from "#contract/margin.ts";

export const BY_WORDS: Readonly<Record<MarginBy, string>> = {
  model: "模型",
  channel: "渠道",
  group: "分组",
  user: "用户",
  token: "令牌",
  day: "日期",
};
