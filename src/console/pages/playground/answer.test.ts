import { describe, expect, it } from "vitest";
import { type AnswerPart, partsOf, readAnswer, splitEvents } from "./answer.ts";

async function collect(response: Response): Promise<AnswerPart[]> {
  const parts: AnswerPart[] = [];
  for await (const part of readAnswer(response)) parts.push(part);
  return parts;
}

/** A response whose body arrives in pieces of `size` bytes, cutting characters apart. */
function pieces(text: string, size: number): Response {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  return new Response(body, { status: 200 });
}

const STREAM = [
  'data: {"choices":[{"delta":{"role":"assistant"}}]}',
  'data: {"choices":[{"delta":{"reasoning_content":"想"}}]}',
  'data: {"choices":[{"delta":{"content":"你好"}}]}',
  'data: {"choices":[{"delta":{"content":"，世界"}}]}',
  'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}',
  "data: [DONE]",
  "",
].join("\n\n");

describe("a streamed answer", () => {
  it.each([1, 7, 4096])("is read whatever pieces it arrives in (%i bytes)", async (size) => {
    expect(await collect(pieces(STREAM, size))).toEqual([
      { kind: "thought", text: "想" },
      { kind: "text", text: "你好" },
      { kind: "text", text: "，世界" },
      { kind: "usage", usage: { prompt: 3, completion: 5 } },
    ]);
  });

  it("keeps the last line until it is whole", () => {
    expect(splitEvents('data: {"a":1}\n\ndata: {"b"')).toEqual({ events: ['{"a":1}'], rest: 'data: {"b"' });
  });

  it("skips comments and lines that are no JSON", () => {
    expect(splitEvents(": ping\n\n")).toEqual({ events: [], rest: "" });
    expect(partsOf("nonsense")).toEqual([]);
  });

  it("fails with the relay's own sentence", async () => {
    const refused = new Response('{"error":{"message":"余额不足"}}', { status: 403 });
    await expect(collect(refused)).rejects.toThrow("余额不足");
    await expect(collect(new Response("<html>", { status: 502 }))).rejects.toThrow("HTTP 502");
    expect(() => partsOf('{"error":{"message":"上游中断"}}')).toThrow("上游中断");
  });
});
