// Answers of our own beside node:http's: whatever is said in both ways, clients read the same.
import { describe, expect, it } from "vitest";
import {
  askByFetch,
  askByNode,
  BYTES,
  chunks,
  type Script,
  scene,
  serveBothWays,
  sized,
  whole,
} from "#test/answer-world.ts";

serveBothWays();

describe("what clients read", () => {
  it.each<[string, Script]>([
    ["a short text", whole('{"a":1}', ["content-type", "application/json"])],
    ["a text of many bytes a character", whole("写 hé 🎹".repeat(50))],
    ["8 KiB", whole(BYTES.subarray(100, 100 + 8 * 1024))],
    ["8 KiB and a byte", whole(BYTES.subarray(100, 101 + 8 * 1024))],
    ["5 MB", whole(BYTES)],
    ["nothing", whole("")],
    ["a status without words of its own", whole("{}", [], 529)],
    ["an error", whole("{}", ["retry-after", "7", "x-should-retry", "false"], 429)],
    ["bytes beyond ASCII in a header", whole(Buffer.from("{}"), ["x-request-id", "h\xe9\xff\x80 \t!"])],
    ["a header twice", whole("{}", ["x-a", "1", "x-a", "2"])],
    ["pieces", chunks("data: 1\n\n", Buffer.from("data: 写\n\n"), "", new Uint8Array(0), "data: [DONE]\n\n")],
    ["large pieces", chunks(BYTES.subarray(0, 8 * 1024), BYTES.subarray(7, 8 * 1024 + 8), BYTES)],
    [
      "pieces that wait for others",
      chunks(BYTES, "写", BYTES.subarray(1, 9_000), "x", BYTES, BYTES.subarray(3)),
    ],
    ["no pieces", chunks()],
    [
      "pieces with a tail",
      (res) => {
        res.writeHead(200, []);
        res.write(BYTES.subarray(0, 300));
        res.end(BYTES.subarray(5, 9_000_0));
      },
    ],
    [
      "a tail alone",
      (res) => {
        res.writeHead(200, []);
        res.end("tail");
      },
    ],
    [
      "pieces without a head",
      (res) => {
        res.write("a");
        res.end("b");
      },
    ],
    [
      "what comes after the end",
      (res) => {
        res.writeHead(200, sized("ab"));
        res.end("ab");
        res.write("c");
        res.end("d");
        res.end();
      },
    ],
    [
      "a head that had to be written again",
      (res) => {
        expect(() => res.writeHead(200, ["content-length", "9", "x-a", "b\r\nset-cookie: c"])).toThrow();
        expect(() => res.writeHead(200, ["x-a", "\u5199"])).toThrow();
        expect(() => res.writeHead(200, ["x-a", "\u0000"])).toThrow();
        expect(res.headersSent).toBe(false);
        res.writeHead(200, sized("sorry"));
        expect(() => res.writeHead(200, [])).toThrow();
        res.end("sorry");
      },
    ],
    [
      "the end of a connection",
      (res) => {
        res.shouldKeepAlive = false;
        whole(BYTES)(res);
      },
    ],
  ])("%s", async (_, said) => {
    scene.script = said;
    for (const ask of [askByNode, askByFetch]) {
      const seen = await ask("ours");
      expect(scene.taken).toEqual({ ours: 1, "node's": 0 });
      const theirs = await ask("node's");
      expect(scene.taken).toEqual({ ours: 1, "node's": 1 });
      scene.taken.ours = 0;
      scene.taken["node's"] = 0;
      expect(seen.body.equals(theirs.body)).toBe(true);
      expect({ ...seen, body: "" }).toEqual({ ...theirs, body: "" });
    }
  });
});
