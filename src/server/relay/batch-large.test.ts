// The largest file there may be passes without being kept: client, gateway and upstream are all in this process, whose memory is looked at.
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { answerLine, BATCH_MODEL, createBatchWorld, requestLine } from "#test/worlds/batch-world.ts";

const batch = createBatchWorld();
const { world } = batch;

/** Sends a file of so many lines without keeping it. Returns the status, and the most memory that the process took meanwhile. */
function sendLarge(
  lines: number,
  lineBytes: number,
): Promise<{ status: number; mostBytes: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const boundary = "b".repeat(30);
    const url = new URL(`${world.url}/v1/files`);
    const before = process.memoryUsage().rss;
    let mostBytes = 0;
    let bytes = 0;
    let isAnswered = false;
    const req = request(
      url,
      {
        method: "POST",
        headers: {
          authorization: `Bearer sk-${world.token.key}`,
          "content-type": `multipart/form-data; boundary=${boundary}`,
        },
      },
      (res) => {
        isAnswered = true;
        res.resume().on("end", () => resolve({ status: res.statusCode ?? 0, mostBytes, bytes }));
      },
    );
    // A refusal may come before all was sent.
    req.on("error", (error) => {
      if (!isAnswered) reject(error);
    });
    req.write(`--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`);
    req.write(`--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="f.jsonl"\r\n\r\n`);
    const text = "x".repeat(
      lineBytes -
        requestLine("12345", { body: { model: BATCH_MODEL, messages: [{ role: "user", content: "" }] } })
          .length -
        1,
    );
    let at = 0;
    const more = () => {
      while (at < lines && !req.destroyed) {
        at += 1;
        mostBytes = Math.max(mostBytes, process.memoryUsage().rss - before);
        const body = { model: BATCH_MODEL, messages: [{ role: "user", content: text }] };
        const line = `${requestLine(String(at).padStart(5, "0"), { body })}\n`;
        bytes += line.length;
        if (!req.write(line)) {
          req.once("drain", more);
          return;
        }
      }
      req.end(`\r\n--${boundary}--\r\n`);
    };
    more();
  });
}

describe("a file of 200 MB", { timeout: 120_000 }, () => {
  test("goes through without being kept", async () => {
    const { status, mostBytes, bytes } = await sendLarge(49_900, 4_200);
    const [passed, more] = [bytes, mostBytes].map((count) => Math.round(count / 1e6));
    process.stdout.write(`${passed} MB passed, at most ${more} MB more were in use
`);
    expect(status).toBe(200);
    expect(bytes).toBeGreaterThan(200_000_000);
    expect(batch.upstream.taken[0]?.bytes).toBeGreaterThan(200_000_000);
    expect(mostBytes).toBeLessThan(150_000_000);
  });

  test("one that is larger is refused, and nothing of it is taken", async () => {
    const { status } = await sendLarge(49_000, 4_400);
    expect(status).toBe(413);
    expect(batch.upstream.taken).toEqual([]);
  });
});

test("large results go through as fast as their client reads, and are summed up", {
  timeout: 120_000,
}, async () => {
  const ids = Array.from({ length: 4_000 }, (_, at) => `r-${at}`);
  const { made, upstreamId } = await batch.submitted(ids.map((id) => requestLine(id)));
  const filling = "x".repeat(5_000);
  const output = ids
    .map((id) => answerLine(id).replace('"choices":[]', `"choices":["${filling}"]`))
    .join("\n");
  batch.upstream.end(upstreamId, { output, counts: { completed: ids.length, failed: 0 } });
  const warnings: string[] = [];
  const warn = ({ message }: Error) => warnings.push(message);
  process.on("warning", warn);
  const done = await batch.client().batches.retrieve(made.id);
  expect(done).toMatchObject({ status: "completed", request_counts: { completed: 4_000 } });
  const answer = await batch.send("GET", `/v1/files/${done.output_file_id}/content`);
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    // Slower than it comes.
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.off("warning", warn);
  expect(bytes).toBe(output.length);
  expect(warnings).toEqual([]);
});
