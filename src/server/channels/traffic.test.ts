import { expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createEvents, type RelayDone } from "#server/events.ts";
import { createLogger } from "#server/log.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createTestDatabase, engines } from "#test/worlds/stores.ts";
import { createTraffic } from "./traffic.ts";

const CALL: RelayDone = {
  requestId: "1",
  endpoint: "chat",
  model: "m",
  userId: 7,
  tokenId: 1,
  channelId: 3,
  status: 200,
  fault: "",
  isStream: true,
  attempts: 1,
  promptTokens: 1,
  completionTokens: 1,
  chargedQuota: 1,
  elapsedMs: 5,
  firstByteMs: 40,
};
const HOUR_MS = 3_600_000;

test.each(engines)(
  "%s: calls are counted by hour, user and channel, also when the clock goes back",
  async (engine) => {
    const database = await createTestDatabase(engine);
    const store = await database.open();
    const clock = fakeClock(0);
    const events = createEvents(createLogger({ logLevel: "silent", pretty: false, now: clock.now }));
    const traffic = createTraffic({ db: store.db, clock, events });
    events.relayDone(CALL);
    clock.advance(HOUR_MS);
    events.relayDone({ ...CALL, userId: 8, fault: "client_gone" });
    clock.advance(-HOUR_MS);
    events.relayDone({ ...CALL, fault: "upstream_error", status: 502 });
    events.channelFailed({
      requestId: "1",
      channelId: 3,
      code: "x",
      status: 500,
      willRetry: false,
      detail: "",
    });
    events.relayDone({ ...CALL, userId: 0 });
    await traffic.flush();
    events.relayDone({ ...CALL, channelId: 0, isStream: false });
    await traffic.close();
    const rows = await store.db.selectFrom("traffic_hours").selectAll().execute();
    const told = rows.map(({ scope, id, hour, calls, failures, streams, first_byte_ms }) =>
      [scope, id, hour, calls, failures, streams, first_byte_ms].map(String).join(" "),
    );
    expect(told.toSorted()).toEqual([
      "all 0 0 3 1 1 40",
      "all 0 3600 1 0 1 40",
      "channel 3 0 2 1 1 40",
      "channel 3 3600 1 0 1 40",
      "user 7 0 3 1 1 40",
      "user 8 3600 1 0 1 40",
    ]);
    await store.close();
    await database.drop();
  },
);

test.each(engines)(
  "%s: what is being stored when the server ends is stored before the database closes",
  async (engine) => {
    const database = await createTestDatabase(engine);
    const store = await database.open();
    const clock = fakeClock(0);
    const events = createEvents(createLogger({ logLevel: "silent", pretty: false, now: clock.now }));
    const writes = holdReads(store.db);
    const traffic = createTraffic({ db: writes.db, clock, events });
    events.relayDone(CALL);
    const first = writes.hold();
    const flushed = traffic.flush();
    const held = await first;
    const steps: string[] = [];
    const closed = traffic.close().then(() => steps.push("closed"));
    void flushed.then(() => steps.push("stored"));
    await new Promise(setImmediate);
    held.tell();
    await closed;
    expect(steps).toEqual(["stored", "closed"]);
    await store.close();
    await database.drop();
  },
);
