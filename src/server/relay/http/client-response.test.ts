// The client's response on real connections.
import { describe, expect, it } from "vitest";
import { until } from "#test/emulators/raw-http.ts";
import { ask, BYTES, callRaw, HUGE, scene, serveAnswers, textOf } from "#test/worlds/answer-world.ts";
import { ClientResponse } from "./client-response.ts";
import { localErrors } from "./local-errors.ts";

serveAnswers();

const reply = (body: Buffer, headers: Record<string, string> = {}) =>
  ({ kind: "whole", headers, body, secrets: [], dropped: [] }) as unknown as Parameters<
    ClientResponse["sendReply"]
  >[0]; // all that is read of it

describe("a response", () => {
  let response: ClientResponse | undefined;
  const opened = (act: (response: ClientResponse) => void, stallMs?: number) => {
    response = undefined;
    scene.script = (req, res) => {
      response = new ClientResponse(req, res, "the-id", stallMs);
      act(response);
    };
  };

  it.each(["a\r\nset-cookie: b=c", "a\nb", "\u5199"])(
    "sends a fault where a header cannot be sent: %j",
    async (value) => {
      let thrown: unknown;
      opened((one) => {
        try {
          one.sendReply(reply(Buffer.from("{}"), { "x-request-id": value }));
        } catch (error) {
          thrown = error;
        }
        one.sendFault(localErrors.internal(""));
      });
      const { status, headers, body } = await ask();
      expect(thrown).toBeInstanceOf(Error);
      expect(status).toBe(500);
      expect(headers).not.toHaveProperty("set-cookie");
      expect(JSON.parse(body.toString())).toMatchObject({ error: { code: "internal_error" } });
      expect(response?.status).toBe(500);
      // The connection is still usable.
      opened((one) => one.sendReply(reply(Buffer.from("{}"))));
      expect((await ask()).body.toString()).toBe("{}");
    },
  );

  it("does not count as left once the client has read all of an answer", async () => {
    for (const body of [Buffer.from("{}"), BYTES]) {
      opened((one) => one.sendReply(reply(body)));
      await ask();
      await until(() => scene.events.length === 2);
      expect(response?.taken()).toBeUndefined();
      expect(response?.hasLeft).toBe(false);
    }
  });

  it("waits until the client has read the answer", async () => {
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
    await until(() => response !== undefined);
    expect(taken).toBeDefined();
    expect(overs).toBe(0);
    socket.resume();
    await taken;
    expect(response?.hasLeft).toBe(false);
    expect(overs).toBe(1);
    socket.destroy();
  });

  it.each(["destroy", "resetAndDestroy"] as const)(
    "counts as left when the client does not wait for it: %s",
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
      expect(response?.hasLeft).toBe(true);
    },
  );

  it("cuts off a client that does not read", async () => {
    opened((one) => one.sendReply(reply(HUGE)), 300);
    const stalled = callRaw().pause();
    await until(() => response?.hasLeft === true);
    expect((await textOf(stalled)).length).toBeLessThan(HUGE.length);
  });
});
