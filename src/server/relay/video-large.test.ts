// A large video passes without being kept: client, gateway and upstream are all in this process, whose memory is looked at (requirements C56).
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { Step } from "#test/emulators/fake-upstream.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createVideoWorld, done, OPENAI, started, VIDEO_MODEL } from "#test/worlds/video-world.ts";

const { world, sweep, submitted } = createVideoWorld();
const MIB = 1024 * 1024;
/** 2 GiB in a soak. */
const PIECES = rounds(192, 2_048);
/** What kernels and streams may hold on the way, three sockets in all. */
const ON_THE_WAY = 24 * MIB;
/** Of the whole process, whose collector is in no hurry. */
const MOST_MEMORY = 256 * MIB;

/** 2 GiB took between 14 and 56 s on two processors with much other work. */
const LIMIT_MS = rounds(60_000, 600_000);

let written = 0;

/** Makes the bytes as they are wanted; each MiB begins with its number. */
const large: Step = async (res, { headers }) => {
  const [, from] = /^bytes=(\d+)-$/.exec(String(headers.range ?? "")) ?? [];
  const first = Number(from ?? 0) / MIB;
  const length = String((PIECES - first) * MIB);
  res.writeHead(from === undefined ? 200 : 206, { "content-type": "video/mp4", "content-length": length });
  const gone = new Promise<void>((resolve) => res.once("close", resolve));
  for (let at = first; at < PIECES && !res.destroyed; at += 1) {
    const piece = Buffer.alloc(MIB, at % 256);
    piece.writeUInt32BE(at);
    written += MIB;
    const hasRoom = res.write(piece);
    if (!hasRoom) await Promise.race([gone, new Promise<void>((resolve) => res.once("drain", resolve))]);
  }
  res.end();
};

interface Seen {
  readonly status: number | undefined;
  readonly bytes: number;
  /** Numbers of the MiB that came, in their order. */
  readonly wrong: number;
  /** Most bytes that the upstream was ahead of the client, and most memory that the process took. */
  readonly ahead: number;
  readonly memory: number;
}

/** Reads a video without keeping it; slowly at first, as a player does. */
function watch(path: string, range?: string): Promise<Seen> {
  written = 0;
  const before = process.memoryUsage().rss;
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer sk-${world.token.key}`,
      ...(range !== undefined && { range }),
    };
    const req = request(world.url + path, { headers }, (res) => {
      let [bytes, wrong, ahead, memory] = [0, 0, 0, 0];
      const first = range === undefined ? 0 : Number(/\d+/.exec(range)?.[0]) / MIB;
      res.on("data", (chunk: Buffer) => {
        // Each byte of a MiB is its number's last eight bits, but for the number in front.
        const [at, offset] = [first + Math.floor(bytes / MIB), bytes % MIB];
        if (offset >= 4 && chunk[0] !== at % 256) wrong += 1;
        bytes += chunk.length;
        ahead = Math.max(ahead, written - bytes);
        memory = Math.max(memory, process.memoryUsage.rss() - before);
        if (bytes < 4 * MIB) {
          res.pause();
          setTimeout(() => res.resume(), 5);
        }
      });
      res.on("end", () => resolve({ status: res.statusCode, bytes, wrong, ahead, memory }));
      res.on("error", reject);
    });
    req.on("error", reject).end();
  });
}

describe("a large video", () => {
  it(
    "streams as fast as it is read, whole and in ranges, and is not kept",
    async () => {
      await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
      world.upstream.script(started, done);
      const path = `/v1/videos/${await submitted()}/content`;
      await sweep();
      world.upstream.script(large);
      const whole = await watch(path);
      expect(whole).toMatchObject({ status: 200, bytes: PIECES * MIB, wrong: 0 });
      expect(whole.ahead).toBeLessThan(ON_THE_WAY);
      expect(whole.memory).toBeLessThan(MOST_MEMORY);
      const rest = await watch(path, `bytes=${(PIECES - 16) * MIB}-`);
      expect(rest).toMatchObject({ status: 206, bytes: 16 * MIB, wrong: 0 });
    },
    LIMIT_MS,
  );
});
