// What decides a video's price stays as its wire wrote it, whatever a channel's rules do around it (requirements C33).
import { describe, expect, it } from "vitest";
import { providers } from "#contract/providers.ts";
import { Rewrite } from "#contract/rewrite.ts";
import { segmentsOf } from "#contract/rewrite-law.ts";
import { type VideoWireName, videoSize } from "#contract/video.ts";
import { type About, outgoing } from "#server/upstream/call/outgoing.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import { Body } from "#server/upstream/call/rewrite-body.ts";
import { taskDraft } from "./call.ts";
import { videoWires } from "./index.ts";
import type { VideoAsk } from "./wire.ts";

const ASK: VideoAsk = {
  model: "m",
  prompt: "a cat",
  seconds: 5,
  size: videoSize("1280x720"),
  resolution: "720p",
  image: undefined,
  hints: {},
};
const ABOUT: About = {
  ...{ reach: "request", endpoint: "videos", model: "m", originModel: "m" },
  ...{ isStream: false, seed: "s" },
} as const;
const [provider] = providers.filter(({ video }) => video === "openai");

/** The same place as a lenient parser reads it. */
function twinOf(path: string): string {
  return path.replace(/[a-z]\w*$/, (name) => name.toUpperCase().replaceAll("_", ""));
}

/** All that a rule may say of these places, and of what they stand in. */
function onAll(fixed: readonly string[]) {
  const around = fixed.map((path) => `/${segmentsOf(path)?.[0]}`);
  return [...new Set([...fixed, ...around])].flatMap((path) => [
    { op: "remove", path },
    { op: "set", path, value: "dear" },
    { op: "set", path, value: { other: 1 } },
    { op: "default", path, value: 60 },
    { op: "append", path, value: "0" },
    { op: "rename", path, to: "/elsewhere" },
    { op: "rename", path: "/prompt", to: path },
    { op: "set", path: twinOf(path), value: "dear" },
  ]);
}

async function sent(name: VideoWireName, actions: readonly unknown[]): Promise<Body> {
  const rewrite = Rewrite.parse({ v: 1, rules: [{ id: "r", do: [...actions, MARK] }] });
  const rules = new CompiledRules({ channelId: 1, rewrite, statusMap: undefined, hash: (text) => text });
  const target = { provider: provider ?? expect.fail(), key: "k", baseUrl: "https://up.example", other: "" };
  const draft = taskDraft(target, videoWires[name].submit(ASK));
  const tools = { credentials: undefined as never, now: () => 0 }; // it signs by a fixed header
  const ready = await outgoing(tools, { ...target, rewrite: rules }, draft, ABOUT);
  if (ready.kind === "fault") throw new Error(ready.publicMessage);
  return Body.of(ready.body ?? new Uint8Array()) ?? expect.fail("no body");
}

/** So that a body which stays has changed all the same. */
const MARK = { op: "set", path: "/user", value: "u" };

describe.each(Object.keys(videoWires) as VideoWireName[])("the price of %s", (name) => {
  const { body = {}, fixed } = videoWires[name].submit(ASK);
  const before = Body.of(Buffer.from(JSON.stringify(body))) ?? expect.fail();
  const allowed = onAll(fixed).filter(
    (action) => Rewrite.safeParse({ v: 1, rules: [{ id: "r", do: [action] }] }).success,
  );

  it("has places in the body, of which rules may name some", () => {
    const there = fixed.filter((path) => before.read(segmentsOf(path) ?? []) !== undefined);
    expect(there.length).toBeGreaterThan(1);
    expect(allowed.length).toBeGreaterThan(0);
  });

  it.each(allowed)("stays after %j", async (action) => {
    const after = await sent(name, [action]);
    expect(after.get("user")).toBe("u");
    for (const path of fixed) {
      const segments = segmentsOf(path) ?? [];
      expect([path, after.read(segments)]).toEqual([path, before.read(segments)]);
      expect(after.read(segmentsOf(twinOf(path)) ?? [])).toBeUndefined();
    }
  });
});
