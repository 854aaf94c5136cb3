// Every recorded stream, truncated at any byte or ended by its vendor's error after any event, for the client format it was recorded for:
// the client gets whole events only, and without its format's end the answer counts as broken (requirements R10, T1.5).
import { expect, it } from "vitest";
import type { EndpointName } from "#contract/provider.ts";
import { type Fixture, loadFixtures, playFixture, type Run } from "#test/worlds/wire-cases.ts";
import { AwsReader, LineReader } from "./handlers/frames.ts";
import { dataText, SseReader } from "./hub/sse.ts";

const fixtures = loadFixtures();
/** How each format marks a complete answer. */
const ENDS: Readonly<Partial<Record<EndpointName, RegExp>>> = {
  chat: /^\[DONE\]$/,
  completions: /^\[DONE\]$/,
  messages: /"type":\s*"message_stop"/,
  responses: /"type":\s*"response\.(completed|incomplete)"/,
  generate: /"(finishReason|blockReason)"/,
};
const streams = fixtures.filter(
  ({ about }) =>
    about.stream && about.status === 200 && about.expect.fault === undefined && ENDS[about.endpoint],
);
/** Long recordings are truncated at some bytes only. */
const MOST_CUTS = 150;

/** Checks the output of a stream that may be broken. */
function check({ about }: Fixture, whole: Run, run: Run, what: string): void {
  const { result, bytes, text, broken } = run;
  if (result.kind === "fault") return;
  const reader = new SseReader();
  const events = reader.push(bytes).map((event) => dataText(event).trim());
  expect(reader.end(), `${what}: half an event`).toBeUndefined();
  const payloads = events.filter((data) => data !== "");
  for (const data of payloads) if (data !== "[DONE]") JSON.parse(data);
  expect(whole.text.startsWith(text), `${what}: ${JSON.stringify(text)}`).toBe(true);
  const isComplete = payloads.some((data) => ENDS[about.endpoint]?.test(data));
  expect(broken === undefined, `${what}: ${payloads.at(-1)}`).toBe(isComplete);
}

/** The offsets at which events end. */
function borders({ about, reply }: Fixture): number[] {
  const isAws = about.contentType.includes("amazon");
  const isLines = /ndjson|jsonl/.test(about.contentType);
  const newReader = () => (isAws ? new AwsReader() : isLines ? new LineReader() : new SseReader());
  const ends: number[] = [];
  const reader = newReader();
  for (let at = 0; at < reply.length; at += 1)
    if (reader.push(reply.subarray(at, at + 1)).length > 0) ends.push(at + 1);
  return ends;
}

it.each(streams.map((fixture) => [fixture.name, fixture] as const))(
  "%s ends regularly or as a broken stream, truncated at any byte",
  async (_, fixture) => {
    const whole = await playFixture(fixture);
    const { reply } = fixture;
    const step = Math.ceil(reply.length / MOST_CUTS);
    for (let end = 0; end < reply.length; end += step) {
      const run = await playFixture({ ...fixture, reply: reply.subarray(0, end) }, { mayBreak: true });
      check(fixture, whole, run, `cut at ${end}`);
    }
  },
);

/** The streams whose vendor has an error event. */
const breakable = streams.flatMap((fixture) => {
  const fault = fixtures.find(({ name }) => name === `${fixture.name.split("/")[0]}/fault-stream`);
  const isEvent = fault?.about.status === 200 && fault.about.contentType === fixture.about.contentType;
  return isEvent ? [[fixture.name, fixture, fault.reply] as const] : [];
});

it.each(breakable)("%s is broken by an error after any event", async (_, fixture, error) => {
  const whole = await playFixture(fixture);
  for (const end of borders(fixture)) {
    const reply = Buffer.concat([fixture.reply.subarray(0, end), error]);
    const run = await playFixture({ ...fixture, reply }, { mayBreak: true });
    check(fixture, whole, run, `error at ${end}`);
  }
});

/** Streams that pass through: one of chat's observer, and one of an observer that holds the end of the answer. */
const PASSING = [
  "openai/stream-tools",
  "openai/completions-stream",
  "anthropic/messages-stream",
  "gemini/generate-stream",
];

it.each(PASSING)("%s with CRLF is the same bytes at any chunk boundary", async (name) => {
  const found = fixtures.find((fixture) => fixture.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  const reply = Buffer.from(found.reply.toString().replaceAll("\n", "\r\n"));
  const whole = await playFixture({ ...found, reply });
  for (let cut = 1; cut < reply.length; cut += 1) {
    const { bytes } = await playFixture({ ...found, reply }, { cuts: [cut] });
    expect(bytes.toString(), `cut at ${cut}`).toBe(whole.bytes.toString());
  }
});
