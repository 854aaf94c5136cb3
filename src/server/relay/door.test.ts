// The door on real connections.
import { describe, expect, it } from "vitest";
import { ask, BYTES, callRaw, HUGE, scene, serveAnswers, textOf } from "#test/answer-world.ts";
import { until } from "#test/raw-http.ts";
import { refusals } from "./refusal.ts";
import { Door } from "./stream.ts";

serveAnswers();

const reply = (body: Buffer, headers: Record<string, string> = {}) =>
  ({ kind: "whole", headers, body, secrets: [], dropped: [] }) as unknown as Parameters<Door["sendReply"]>[0]; // all that is read of it

describe("a door", () => {
  let door: Door | undefined;
  const opened = (act: (door: Door) => void, stallMs?: number) => {
    door = undefined;
    scene.script = (req, res) => {
      door = new Door(req, res, "the-id", stallMs);
      act(door);
    };
  };

  it.each(["a\r\nset-cookie: b=c", "a\nb", "\u5199"])(
    "tells of a failure where a header cannot be sent: %j",
    async (value) => {
      let thrown: unknown;
      opened((one) => {
        try {
          one.sendReply(reply(Buffer.from("{}"), { "x-request-id": value }));
        } catch (error) {
          thrown = error;
        }
        one.sendFault(refusals.internal(""));
      });
      const { status, headers, body } = await ask();
      expect(thrown).toBeInstanceOf(Error);
      expect(status).toBe(500);
      expect(headers).not.toHaveProperty("set-cookie");
      expect(JSON.parse(body.toString())).toMatchObject({ error: { code: "internal_error" } });
      expect(door?.status).toBe(500);
      // The connection is as it was.
      opened((one) => one.sendReply(reply(Buffer.from("{}"))));
      expect((await ask()).body.toString()).toBe("{}");
    },
  );

  it("is left by nobody who has taken all of an answer", async () => {
    for (const body of [Buffer.from("{}"), BYTES]) {
      opened((one) => one.sendReply(reply(body)));
      await ask();
      await until(() => scene.events.length === 2);
      expect(door?.taken()).toBeUndefined();
      expect(door?.hasLeft).toBe(false);
    }
  });

  it("waits until an answer was taken", async () => {
    let taken: Promise<void> | undefined;
    let overs = 0;
    opened((one) => {
      one.onOver(() => {
        overs += 1;
      });
      one.sendReply(reply(HUGE));
      taken = one.taken();
    });
    const socket = callRaw().pause();
    await until(() => door !== undefined);
    expect(taken).toBeDefined();
    expect(overs).toBe(0);
    socket.resume();
    await taken;
    expect(door?.hasLeft).toBe(false);
    expect(overs).toBe(1);
    socket.destroy();
  });

  it.each(["destroy", "resetAndDestroy"] as const)(
    "is left by who does not wait for it: %s",
    async (leave) => {
      let taken: Promise<void> | undefined;
      opened((one) => {
        one.sendReply(reply(HUGE));
        taken = one.taken();
      });
      const socket = callRaw().pause();
      await until(() => taken !== undefined);
      socket[leave]();
      await taken;
      expect(door?.hasLeft).toBe(true);
    },
  );

  it("gives up who does not read", async () => {
    opened((one) => one.sendReply(reply(HUGE)), 300);
    const stalled = callRaw().pause();
    await until(() => door?.hasLeft === true);
    expect((await textOf(stalled)).length).toBeLessThan(HUGE.length);
  });
});
