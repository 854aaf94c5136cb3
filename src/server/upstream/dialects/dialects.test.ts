// Every recorded case of every dialect, through the code that calls an upstream: the request on the wire, the reply the client gets, the
// usage read from it, and the same again with the reply split at every byte.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { readUsage } from "#server/upstream/usage.ts";
import { rounds } from "#test/worlds/soak.ts";
import { type Fixture, loadFixtures, playFixture, type Run } from "#test/worlds/wire-cases.ts";

/**
 * Bytes between the cuts of one reading: each boundary is cut once, some dozens at a time; the soak cuts each alone. Odd, so that the cuts
 * of one reading fall at different places of what repeats.
 */
const APART_BYTES = rounds(61, Infinity);

/** Sets of cuts that together are all boundaries of so many bytes. */
function allCuts(length: number): number[][] {
  const sets: number[][] = [];
  for (let first = 1; first < Math.min(length, APART_BYTES + 1); first += 1) {
    const cuts: number[] = [];
    for (let cut = first; cut < length; cut += APART_BYTES) cuts.push(cut);
    sets.push(cuts);
  }
  return sets;
}

const BOUNDS = { promptTokens: 1e6, completionTokens: 1e6 };
const fixtures = loadFixtures();

function usageOf({ result }: Run) {
  return result.kind === "fault" || !result.usage
    ? undefined
    : readUsage(result.usage, BOUNDS, result.quirks)?.usage;
}

/** Everything that `check` compares. */
function told(run: Run) {
  const { result, bytes, text } = run;
  return result.kind === "fault" ? result : { bytes, text, usage: usageOf(run) };
}

function check(fixture: Fixture, run: Run): void {
  const { result, bytes, text } = run;
  const { fault, usage, text: expected } = fixture.about.expect;
  if (fault !== undefined) {
    expect(result).toMatchObject({ kind: "fault", ...fault });
    return;
  }
  if (result.kind === "fault") throw new Error(`unexpected fault ${JSON.stringify(result)}`);
  expect(bytes.toString()).toBe(fixture.clientReply.toString());
  expect(text).toBe(expected);
  expect(usageOf(run)).toEqual(usage);
}

describe.each(fixtures)("$name", (fixture) => {
  it("sends the recorded request", async () => {
    const { sent } = await playFixture(fixture);
    if (sent === undefined) throw new Error("nothing was sent");
    expect(sent.origin + sent.path).toBe(fixture.wire.url);
    expect(Buffer.from(sent.body ?? []).toString()).toBe(fixture.wire.body);
    const headers = new Map<string, string>();
    for (let index = 0; index < sent.headers.length; index += 2) {
      headers.set(sent.headers[index] ?? "", sent.headers[index + 1] ?? "");
    }
    expect(Object.fromEntries(headers)).toMatchObject(fixture.wire.headers);
  });

  it("gives the client the recorded reply and reads its usage", async () => {
    check(fixture, await playFixture(fixture));
  });

  it("does so at any chunk boundaries", async () => {
    const whole = await playFixture(fixture);
    check(fixture, whole);
    for (const cuts of allCuts(fixture.reply.length)) {
      const run = await playFixture(fixture, { cuts });
      // Some hundred thousand boundaries: an equal result needs no second check.
      if (!isDeepStrictEqual(told(run), told(whole))) check(fixture, run);
    }
  });
});

it("has the same content in a plain and in a streamed reply", () => {
  const byDialect = Map.groupBy(fixtures, ({ name }) => name.split("/")[0]);
  for (const [dialect, cases] of byDialect) {
    const of = (kind: string) => cases.find(({ name }) => name === `${dialect}/${kind}`)?.about.expect;
    expect(of("stream")).toEqual(of("plain"));
  }
});
