import { afterAll, describe, expect, it } from "vitest";
import { approximateTokens, createTokenCounter, encodingOf } from "./counter.ts";
import { imageSize, imageTokens } from "./image.ts";
import { promptParts } from "./prompt.ts";

describe("images", () => {
  it.each([
    [128, 128, 255],
    [1024, 1024, 765],
    [2048, 4096, 1105],
    [512, 512, 255],
  ])("%i × %i costs %i", (width, height, tokens) => {
    expect(imageTokens({ width, height }, false)).toBe(tokens);
    expect(imageTokens({ width, height }, true)).toBe(85);
  });

  it("reads sizes from data URLs and from nothing else", () => {
    const png =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    expect(imageSize(png)).toEqual({ width: 1, height: 1 });
    expect(imageSize("data:image/gif;base64,R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=")).toEqual({
      width: 1,
      height: 1,
    });
    const jpeg = Buffer.from(
      "ffd8ffe000104a46494600010100000100010000ffc0001108004000800301220002110103110",
      "hex",
    );
    expect(imageSize(`data:image/jpeg;base64,${jpeg.toString("base64")}`)).toEqual({
      width: 128,
      height: 64,
    });
    expect(imageSize("https://example.com/a.png")).toBeUndefined();
    expect(imageSize("data:image/png;base64,AAAA")).toBeUndefined();
    expect(imageSize("data:image/png,AAAA")).toBeUndefined();
  });
});

describe("prompt parts", () => {
  it("counts messages, names, tools and images", () => {
    const parts = promptParts("chat", {
      messages: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          name: "ann",
          content: [
            { type: "text", text: "hi" },
            { type: "image_url", image_url: { url: "x", detail: "low" } },
          ],
        },
        { role: "assistant", content: null, tool_calls: [{ id: "1" }] },
        null,
        7,
      ],
      tools: [{ type: "function" }],
    });
    expect(parts.texts).toEqual([
      "system",
      "be brief",
      "user",
      "ann",
      "hi",
      "assistant",
      '[{"id":"1"}]',
      '{"type":"function"}',
    ]);
    expect(parts.fixedTokens).toBe(3 + 3 * 3 + 1 + 85 + 8);
    expect(parts.media).toBe(1);
  });

  it("counts inputs of any nesting", () => {
    expect(promptParts("embeddings", { input: ["a", "b"] }).texts).toEqual(["a", "b"]);
    expect(promptParts("embeddings", { input: [[1, 2], [3]] }).fixedTokens).toBe(3);
    expect(promptParts("completions", { prompt: "x" }).texts).toEqual(["x"]);
    expect(promptParts("chat", { messages: "nonsense" }).texts).toEqual([]);
  });
});

describe("TokenCounter", () => {
  const counter = createTokenCounter(() => false);
  afterAll(() => counter.close());

  it("counts like the model's tokenizer", async () => {
    const parts = promptParts("chat", { messages: [{ role: "user", content: "hello world" }] });
    // 3 for the reply, 3 for the message, 1 for the role, 2 for the text.
    await expect(counter.count("gpt-4", parts)).resolves.toBe(9);
    await expect(counter.count("gpt-4o", parts)).resolves.toBe(9);
    await expect(
      counter.count("gpt-4o", { texts: ["<|endoftext|>"], fixedTokens: 0 }),
    ).resolves.toBeGreaterThan(1);
  });

  it("chooses the encoding by name", () => {
    expect(["gpt-3.5-turbo", "gpt-4", "gpt-4-turbo", "text-embedding-3-small"].map(encodingOf)).toEqual(
      Array(4).fill("cl100k_base"),
    );
    expect(["gpt-4o", "gpt-4.1", "gpt-5", "o3", "qwen-max"].map(encodingOf)).toEqual(
      Array(5).fill("o200k_base"),
    );
  });

  it("approximates on request, and texts that would take too long", async () => {
    const approximate = createTokenCounter(() => true);
    const what = { texts: ["hello world"], fixedTokens: 1 };
    await expect(approximate.count("gpt-4", what)).resolves.toBe(1 + Math.trunc(11 * 0.38));
    const huge = { texts: ["a".repeat(1024 * 1024)], fixedTokens: 0 };
    await expect(counter.count("gpt-4", huge)).resolves.toBe(approximateTokens(huge));
  });

  it("counts many concurrent texts exactly, as when a stopping process ends its streams", async () => {
    const texts = ["The quick brown fox jumps over the lazy dog. ".repeat(50)];
    const alone = await counter.count("gpt-4o", { texts, fixedTokens: 0 });
    const asked = Array.from({ length: 800 }, () => counter.count("gpt-4o", { texts, fixedTokens: 0 }));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([alone]));
  });

  it("approximates a text that takes too long, and still counts the following ones", async () => {
    const hostile = Array.from({ length: 199_000 }, (_, index) =>
      String.fromCharCode(97 + (((index * index * 7919) >>> 5) % 23)),
    ).join("");
    const texts = ["hello world ".repeat(100)];
    const alone = await counter.count("gpt-4o", { texts, fixedTokens: 0 });
    const [, behind] = await Promise.all([
      counter.count("gpt-4o", { texts: [hostile], fixedTokens: 0 }),
      counter.count("gpt-4o", { texts, fixedTokens: 0 }),
    ]);
    expect(behind).toBe(alone);
  });

  it("never blocks the event loop, even for hostile texts", async () => {
    let worst = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last - 5);
      last = performance.now();
    }, 5);
    const text = Array.from({ length: 60_000 }, (_, index) =>
      String.fromCharCode(0x4e00 + ((index * 7919) % 20_000)),
    ).join("");
    const start = performance.now();
    await expect(counter.count("gpt-4o", { texts: [text], fixedTokens: 0 })).resolves.toBeGreaterThan(10_000);
    clearInterval(timer);
    const tookMs = performance.now() - start;
    expect(tookMs).toBeLessThan(20_000);
    // A busy machine causes longer pauses; counting on this thread would block for the whole time.
    expect(worst).toBeLessThan(Math.max(200, tookMs / 4));
  });
});
