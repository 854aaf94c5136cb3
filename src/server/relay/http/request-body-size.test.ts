// How much of a body is read (requirements R04).
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { createBodyReader } from "./request-body.ts";

const MIB = 1024 * 1024;
const readBody = createBodyReader(1024 * MIB);

function requestOf(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

/** The outcome for a body that comes in pieces, its length announced or not. */
async function fateOf(type: string, bytes: number, isAnnounced: boolean): Promise<string> {
  const length = isAnnounced ? { "content-length": String(bytes) } : {};
  const req = requestOf({ "content-type": type, ...length });
  const reading = (async () =>
    readBody(req, { gone: new Cancellation(), onOver: (listener) => listener() }))().then(
    (body) => `${body.length} bytes`,
    (refusal: { fault: { status: number; publicMessage: string } }) =>
      `${refusal.fault.status} ${refusal.fault.publicMessage}`,
  );
  for (let left = bytes; left > 0; left -= MIB) req.push(Buffer.alloc(Math.min(left, MIB)));
  req.push(null);
  return reading;
}

test.each([
  ["application/json", 32],
  ["", 32],
  ["multipart/form-data; boundary=x", 64],
])("a body of type '%s' may have %d MiB and no byte more, announced or in pieces", async (type, limit) => {
  for (const isAnnounced of [true, false]) {
    expect(await fateOf(type, limit * MIB, isAnnounced)).toBe(`${limit * MIB} bytes`);
    expect(await fateOf(type, limit * MIB + 1, isAnnounced)).toBe(`413 请求体过大，最大为 ${limit} MiB`);
  }
});
