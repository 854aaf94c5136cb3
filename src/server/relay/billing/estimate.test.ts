// What recovery charges for a stream whose process died is never more than came (requirements M12).
import { decode, encode } from "gpt-tokenizer/encoding/o200k_base";
import { beforeEach, describe, expect, it } from "vitest";
import { UsageObserver } from "#server/upstream/usage.ts";
import { chunk, DONE, type Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { estimateOutput, leastOutputTokens } from "./pricing-text.ts";

const ENGLISH =
  "When in the course of human events it becomes necessary for one people to dissolve the bands. ";
const CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。";
const CODE =
  'export function sum(a: number[]): number {\n  return a.reduce((x, y) => x + y, 0);\n}\n\n{"a": [1, 2]}\n';

describe("the bounds of a text that is not counted", () => {
  const TEXTS = { ENGLISH, CHINESE, CODE };
  /** How an upstream cuts its answer into events, and how it writes them. */
  const CUTS: Record<string, (text: string) => readonly string[]> = {
    "a token each": (text) => encode(text).map((token) => decode([token])),
    "a character each": (text) => [...text],
    "many tokens each": (text) => text.match(/.{1,200}/gsu) ?? [],
  };
  const WRITTEN: Record<string, (event: object) => string> = {
    plain: (event) => JSON.stringify(event),
    escaped: (event) =>
      JSON.stringify(event).replaceAll(
        /[^ -~]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
  };

  for (const [name, text] of Object.entries(TEXTS))
    for (const [cut, cutter] of Object.entries(CUTS))
      it.each(Object.entries(WRITTEN))(`hold for ${name} with ${cut}, %s`, (_, write) => {
        const whole = text.repeat(20);
        const observer = new UsageObserver();
        for (const content of cutter(whole)) {
          const bytes = Buffer.from(write({ choices: [{ delta: { content } }] }));
          observer.scan(bytes, 0, bytes.length);
        }
        const tokens = encode(whole).length;
        expect(leastOutputTokens(observer)).toBeLessThanOrEqual(tokens);
        expect(leastOutputTokens(observer)).toBeGreaterThan(tokens * (cut === "a token each" ? 0.99 : 0.4));
        expect(estimateOutput(observer)).toBeGreaterThan(tokens * 0.65);
      });
});

describe("the checkpoint of a running stream", () => {
  const world = createRelayWorld();
  const WORDS = 60;

  beforeEach(() => world.addChannel());

  /** Requests a stream; returns its first checkpoint, and what had come by then. */
  async function firstNote(head: string, prompt: string) {
    let sent = 0;
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const slowly: Step = async (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" }).write(head);
      while (sent < WORDS && !res.destroyed) {
        res.write(chunk({ content: " word" }));
        sent += 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await held;
      res.end(chunk({}, "stop") + DONE);
    };
    world.upstream.script(slowly);
    const response = await world.ask({
      ...QUESTION,
      messages: [{ role: "user", content: prompt }],
      stream: true,
    });
    const read = response.arrayBuffer();
    const look = () =>
      world.ctx.db
        .selectFrom("reservations")
        .select(["seen_charge", "seen_prompt_tokens", "seen_completion_tokens"])
        .executeTakeFirstOrThrow();
    await expect.poll(async () => (await look()).seen_completion_tokens).toBeGreaterThan(10);
    const noted = await look();
    const most = sent;
    goOn();
    await read;
    return { ...noted, most };
  }

  it("is not more than its output, and about its prompt", async () => {
    const noted = await firstNote("", ENGLISH);
    expect(noted.seen_completion_tokens).toBeLessThanOrEqual(noted.most);
    // The sentence has 19 tokens, the framing 7.
    expect(noted.seen_prompt_tokens).toBeGreaterThanOrEqual(13);
    expect(noted.seen_prompt_tokens).toBeLessThanOrEqual(26);
    expect(noted.seen_charge).toBe(noted.seen_prompt_tokens * 15 + noted.seen_completion_tokens * 30);
  });

  it("has the prompt that the upstream reported", async () => {
    const usage = { prompt_tokens: 21, completion_tokens: 1, total_tokens: 22 };
    const told = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
    const noted = await firstNote(told, ENGLISH);
    expect(noted.seen_prompt_tokens).toBe(21);
    expect(noted.seen_completion_tokens).toBeLessThanOrEqual(noted.most);
  });
});
