import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findUsage, readUsage } from "./usage.ts";

const impossible = { usage: undefined, isImpossible: true };
const bounds = { promptTokens: 1000, completionTokens: 500 };

describe("readUsage", () => {
  it("reads OpenAI's shape with cached tokens", () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    expect(readUsage(usage, bounds)).toEqual({
      usage: { promptTokens: 9, completionTokens: 3, cachedTokens: 4 },
      isImpossible: false,
    });
  });

  it("adds reasoning that an upstream counts outside the completion", () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 40 },
    };
    expect(readUsage(usage, bounds, { reasoningBeside: true })?.usage).toMatchObject({
      completionTokens: 43,
      reasoningTokens: 40,
    });
    expect(readUsage(usage, bounds)?.usage).toMatchObject({ completionTokens: 3, reasoningTokens: 3 });
  });

  it("does not add it twice where the total includes it", () => {
    const chat = { prompt_tokens: 37, completion_tokens: 530, total_tokens: 800 };
    const responses = { input_tokens: 1_941, output_tokens: 583, total_tokens: 2_524 };
    const most = { promptTokens: 9_000, completionTokens: 9_000 };
    const read = (usage: object) => readUsage({ ...usage }, most, { reasoningBeside: true })?.usage;
    expect(read({ ...chat, completion_tokens_details: { reasoning_tokens: 233 } })?.completionTokens).toBe(
      763,
    );
    const within = { ...responses, output_tokens_details: { reasoning_tokens: 380 } };
    expect(read(within)).toMatchObject({ completionTokens: 583, reasoningTokens: 380 });
  });

  it("reads embeddings, which have no completion", () => {
    expect(readUsage({ prompt_tokens: 7, total_tokens: 7 }, bounds)?.usage?.promptTokens).toBe(7);
    expect(readUsage({ total_tokens: 7 }, bounds)?.usage).toEqual({
      promptTokens: 7,
      completionTokens: 0,
      cachedTokens: 0,
    });
  });

  it("rejects negative and broken numbers", () => {
    for (const bad of [-1, -1e6, 1.5, "12", Number.NaN, Number.POSITIVE_INFINITY, {}, [], true]) {
      expect(readUsage({ prompt_tokens: bad, completion_tokens: 3 }, bounds)).toEqual(impossible);
      expect(readUsage({ prompt_tokens: 3, completion_tokens: bad }, bounds)).toEqual(impossible);
    }
    expect(readUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, bounds)).toBeUndefined();
    expect(readUsage({ prompt_tokens: null, completion_tokens: null }, bounds)).toBeUndefined();
    expect(readUsage({}, bounds)).toBeUndefined();
  });

  it("rejects usage above what the request can have caused", () => {
    expect(readUsage({ prompt_tokens: 1e308, completion_tokens: 1 }, bounds)).toEqual(impossible);
    expect(readUsage({ prompt_tokens: 1001, completion_tokens: 1 }, bounds)).toEqual(impossible);
    expect(readUsage({ prompt_tokens: 1, completion_tokens: 501 }, bounds)).toEqual(impossible);
    expect(readUsage({ prompt_tokens: 1000, completion_tokens: 500 }, bounds)?.isImpossible).toBe(false);
  });

  it("reads cache writes, audio, images and reasoning under each name of the details", () => {
    const chat = {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: {
        cached_tokens: 10,
        cache_write_tokens: 20,
        cache_write_1h_tokens: 5,
        audio_tokens: 30,
        image_tokens: 15,
      },
      completion_tokens_details: { reasoning_tokens: 12, audio_tokens: 8, image_tokens: 4 },
    };
    const usage = {
      promptTokens: 100,
      completionTokens: 50,
      cachedTokens: 10,
      cacheWriteTokens: 20,
      cacheWriteHourTokens: 5,
      audioPromptTokens: 30,
      imagePromptTokens: 15,
      reasoningTokens: 12,
      audioCompletionTokens: 8,
      imageCompletionTokens: 4,
    };
    expect(readUsage(chat, bounds)?.usage).toEqual(usage);
    const { prompt_tokens_details: input, completion_tokens_details: output } = chat;
    const tokens = { input_tokens: 100, output_tokens: 50 };
    for (const responses of [
      { ...tokens, input_tokens_details: input, output_tokens_details: output },
      { ...tokens, input_token_details: input, output_token_details: output },
    ])
      expect(readUsage(responses, bounds)?.usage).toEqual(usage);
  });

  it("counts realtime's cached audio as cached, once", () => {
    const usage = {
      input_tokens: 100,
      output_tokens: 1,
      input_token_details: {
        audio_tokens: 60,
        text_tokens: 40,
        cached_tokens: 50,
        cached_tokens_details: { audio_tokens: 35, text_tokens: 15 },
      },
    };
    expect(readUsage(usage, bounds)?.usage).toMatchObject({ cachedTokens: 50, audioPromptTokens: 25 });
  });

  it("reads DashScope's name of a cache write", () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: { cache_creation_input_tokens: 70 },
    };
    expect(readUsage(usage, bounds)?.usage).toMatchObject({ cacheWriteTokens: 70 });
  });

  it("reads how much OpenAI writes for twelve hours, never more than all it writes", () => {
    const written = (ttl_12h_tokens: number) => {
      const cache_write_tokens_details = { ttl_12h_tokens, ttl_30m_tokens: 30 };
      const input_tokens_details = { cached_tokens: 0, cache_write_tokens: 70, cache_write_tokens_details };
      return readUsage({ input_tokens: 100, output_tokens: 1, input_tokens_details }, bounds)?.usage;
    };
    expect(written(40)).toMatchObject({ cacheWriteTokens: 70, cacheWriteHourTokens: 40 });
    expect(written(400)).toMatchObject({ cacheWriteTokens: 70, cacheWriteHourTokens: 70 });
    expect(written(0)).not.toHaveProperty("cacheWriteHourTokens");
  });

  it("never lets the parts exceed the whole", () => {
    const count = fc.oneof(fc.integer({ min: -5, max: 2_000 }), fc.anything());
    const details = fc.record(
      {
        cached_tokens: count,
        cache_write_tokens: count,
        cache_write_1h_tokens: count,
        audio_tokens: count,
        image_tokens: count,
        reasoning_tokens: count,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(2_000), details, details, (prompt, completion, input, output) => {
        const told = { prompt_tokens: prompt, completion_tokens: completion };
        const read = readUsage(
          { ...told, prompt_tokens_details: input, completion_tokens_details: output },
          bounds,
        );
        if (read?.usage === undefined) return;
        const { promptTokens, completionTokens, cachedTokens, ...parts } = read.usage;
        const { cacheWriteTokens = 0, cacheWriteHourTokens = 0, reasoningTokens = 0 } = parts;
        const { audioPromptTokens = 0, imagePromptTokens = 0 } = parts;
        const { audioCompletionTokens = 0, imageCompletionTokens = 0 } = parts;
        const inputParts = cachedTokens + cacheWriteTokens + audioPromptTokens + imagePromptTokens;
        expect(inputParts).toBeLessThanOrEqual(promptTokens);
        expect(cacheWriteHourTokens).toBeLessThanOrEqual(cacheWriteTokens);
        expect(audioCompletionTokens + imageCompletionTokens).toBeLessThanOrEqual(completionTokens);
        expect(reasoningTokens).toBeLessThanOrEqual(completionTokens);
        for (const part of Object.values(read.usage))
          expect(Number.isSafeInteger(part) && part >= 0).toBe(true);
      }),
    );
  });

  it("never leaves the bounds", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"),
          fc.anything(),
        ),
        (usage) => {
          const read = readUsage(usage, bounds);
          if (read?.usage === undefined) return;
          const { promptTokens, completionTokens, cachedTokens } = read.usage;
          for (const count of [promptTokens, completionTokens, cachedTokens])
            expect(Number.isSafeInteger(count)).toBe(true);
          expect(promptTokens <= 1000 && completionTokens <= 500 && cachedTokens <= promptTokens).toBe(true);
          expect(Math.min(promptTokens, completionTokens, cachedTokens)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it.each(["cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens"])(
    "reads the cached tokens by a vendor's name, from any provider: %s",
    (name) => {
      const read = readUsage({ prompt_tokens: 9, completion_tokens: 1, [name]: 5 }, bounds);
      expect(read?.usage?.cachedTokens).toBe(5);
    },
  );

  it("honours the quirks of a row", () => {
    expect(
      readUsage({ prompt_tokens: 1, completion_tokens: 1 }, bounds, { usageUnreliable: true }),
    ).toBeUndefined();
    const nested = { choices: [{ usage: { prompt_tokens: 1 } }], x_groq: { usage: { prompt_tokens: 2 } } };
    expect(findUsage(nested, undefined)).toBeUndefined();
    expect(findUsage(nested, { usageIn: "choices[0].usage" })).toEqual({ prompt_tokens: 1 });
    expect(findUsage(nested, { usageIn: "x_groq.usage" })).toEqual({ prompt_tokens: 2 });
  });
});
