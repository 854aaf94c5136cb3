// Job: tests all channels every CHANNEL_TEST_FREQUENCY minutes (requirements W9.6).
import { startChannelTests } from "#server/channels/bulk-test.ts";
import { scheduledTester } from "#server/channels/test-record.ts";
import type { Job } from "./job.ts";

export const channelTests: Job = {
  name: "channel-tests",
  periodMs: ({ channelTestFrequencyMs }) => channelTestFrequencyMs,
  async run(ctx) {
    const isStarted = await startChannelTests(ctx, "all", scheduledTester);
    return isStarted ? "started" : "a run goes on already";
  },
};
