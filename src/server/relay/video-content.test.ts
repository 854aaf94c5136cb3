// Who may see a video, and how it is handed out (requirements C56, C57).
import { createServer } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { json, raw, type Step } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { errorOf } from "#test/worlds/relay-world.ts";
import {
  createVideoWorld,
  done,
  GEMINI,
  MINIMAX,
  OPENAI,
  ORDER,
  read,
  started,
  VIDEO_MODEL,
} from "#test/worlds/video-world.ts";

const { world, sweep, get, send, submitted } = createVideoWorld();

describe("the content", () => {
  const body = "0123456789".repeat(20_000);
  const bytes: Step = (res, { headers }) => {
    const [, from] = /^bytes=(\d+)-$/.exec(String(headers.range ?? "")) ?? [];
    const part = from === undefined ? body : body.slice(Number(from));
    const head = {
      "content-type": "video/mp4",
      "content-length": String(part.length),
      "accept-ranges": "bytes",
    };
    res.writeHead(from === undefined ? 200 : 206, head).end(part);
  };
  const finished = async (type = OPENAI, model = VIDEO_MODEL) => {
    await world.addChannel({ models: model, type });
    world.upstream.script(started, done);
    const id = await submitted({ ...ORDER, model });
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(409);
    await sweep();
    return id;
  };

  it("comes through us, whole and in ranges, with the channel's key and none of ours", async () => {
    const id = await finished();
    world.upstream.script(bytes);
    const whole = await get(`/v1/videos/${id}/content`);
    expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    expect(await whole.text()).toBe(body);
    const part = await get(`/v1/videos/${id}/content`, undefined, { range: "bytes=199990-" });
    expect([part.status, await part.text()]).toEqual([206, "0123456789"]);
    const asked = world.upstream.journal.at(-1);
    expect(asked?.path).toBe("/v1/videos/up-1/content");
    expect(asked?.headers.authorization).toContain("sk-canary-upstream-key");
  });

  it.each<[string, Step, number]>([
    ["an expired link", raw("gone", {}, 404), 410],
    ["a refused link", raw("<Error>Expired</Error>", {}, 403), 410],
    ["a redirect to an inner address", raw("", { location: "http://10.0.0.8/v.mp4" }, 302), 502],
    ["a redirect to metadata", raw("", { location: "http://169.254.169.254/latest" }, 302), 502],
    ["a redirect to this machine", raw("", { location: "http://localhost:1/v.mp4" }, 307), 502],
    ["a redirect to a file", raw("", { location: "file:///etc/passwd" }, 302), 502],
    ["redirects without end", raw("", { location: "/again" }, 302), 502],
    ["a failure", raw("", {}, 500), 502],
    ["more than a video may have", raw("", { "content-length": "9".repeat(12) }), 502],
  ])("%s is no video", async (_, step, status) => {
    const id = await finished();
    world.upstream.script(step);
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(status);
  });

  it("that breaks off is cut, not ended; one that is HTML is called a video", async () => {
    const id = await finished();
    world.upstream.script((res) => {
      res.writeHead(200, { "content-type": "text/html" });
      res.write("<script>", () => res.socket?.resetAndDestroy());
    });
    const answer = await get(`/v1/videos/${id}/content`);
    expect(answer.headers.get("content-type")).toBe("video/mp4");
    await expect(answer.text()).rejects.toThrow();
  });

  it("of MiniMax is found when it is fetched, at an address that gets no key", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: MINIMAX });
    world.upstream.script(
      json({ task_id: "7", base_resp: { status_code: 0 } }),
      json({ status: "Success", file_id: "f9" }),
      json({ file: { download_url: `${world.upstream.url}/cdn/f9` } }),
      bytes,
    );
    const id = await submitted();
    await sweep();
    expect(await (await get(`/v1/videos/${id}/content`)).text()).toBe(body);
    const [, , located, fetched] = world.upstream.journal;
    expect([located?.path, fetched?.path]).toEqual(["/v1/files/retrieve?file_id=f9", "/cdn/f9"]);
    expect(fetched?.headers.authorization).toBeUndefined();
    world.upstream.script(json({ file: {} }));
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(410);
    world.upstream.script(json({}, 404));
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(410);
  });

  it("of Veo needs the key, which does not go along to another place", async () => {
    const other = createServer((req, res) => res.end(String(req.headers["x-goog-api-key"])));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    await world.addChannel({ models: VIDEO_MODEL, type: GEMINI });
    const operation = "models/veo/operations/1";
    const uri = `${world.upstream.url}/v1beta/files/1:download?alt=media`;
    const samples = { generatedSamples: [{ video: { uri } }] };
    world.upstream.script(
      json({ name: operation }),
      json({ name: operation, done: true, response: { generateVideoResponse: samples } }),
      bytes,
    );
    const id = await submitted();
    await sweep();
    expect(await (await get(`/v1/videos/${id}/content`)).text()).toBe(body);
    expect(world.upstream.journal.at(-1)).toMatchObject({ path: "/v1beta/files/1:download?alt=media" });
    expect(world.upstream.journal.at(-1)?.headers["x-goog-api-key"]).toContain("canary");
    const { port } = other.address() as { port: number }; // it listens on a port
    world.upstream.script(raw("", { location: `http://127.0.0.1:${port}/` }, 302));
    // Another place of this machine is refused, although channels may be here.
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(502);
  });

  it("is lost with its channel", async () => {
    const id = await finished();
    await world.clearChannels();
    expect((await get(`/v1/videos/${id}/content`)).status).toBe(410);
  });
});

describe("whose it is", () => {
  it("decides what is there: another's is as if it had never been, in lists and cursors too", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started);
    const mine = [await submitted(), await submitted(), await submitted()];
    const stranger = await seedUser(world.ctx, `stranger-${Date.now()}`);
    const { key } = await seedToken(world.ctx, stranger.id);
    const never = "video_never";
    for (const [method, tail] of [
      ["GET", ""],
      ["GET", "/content"],
      ["POST", "/cancel"],
      ["DELETE", ""],
    ] as const) {
      const answers = await Promise.all(
        [mine[0] ?? "", never].map((id) => send(method, `/v1/videos/${id}${tail}`, key)),
      );
      const [foreign, unknown] = await Promise.all(answers.map(errorOf));
      expect(foreign).toMatchObject({ status: 404, code: "video_not_found" });
      expect({ ...unknown, message: "" }).toEqual({ ...foreign, message: "" });
    }
    expect(await read(await get("/v1/videos", key))).toMatchObject({
      data: [],
      has_more: false,
      first_id: null,
    });
    expect((await get(`/v1/videos?after=${mine[0]}`, key)).status).toBe(404);
    const page = await read(await get(`/v1/videos?limit=2`));
    expect([page.data.map(({ id }: { id: string }) => id), page.has_more]).toEqual([
      [mine[2], mine[1]],
      true,
    ]);
    const rest = await read(await get(`/v1/videos?limit=2&after=${page.last_id}`));
    expect([rest.data.map(({ id }: { id: string }) => id), rest.has_more]).toEqual([[mine[0]], false]);
    const ascending = await read(await get(`/v1/videos?order=asc&after=${mine[0]}`));
    expect(ascending.data.map(({ id }: { id: string }) => id)).toEqual([mine[1], mine[2]]);
    for (const query of ["limit=0", "limit=x", "order=up"])
      expect((await get(`/v1/videos?${query}`)).status).toBe(400);
    // Another key of the same person sees them.
    const second = await seedToken(world.ctx, world.userId);
    expect((await get(`/v1/videos/${mine[0]}`, second.key)).status).toBe(200);
  });

  it("is found under the family's address, and nothing is where nothing is", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started);
    const made = await read(
      await world.ask({ model: VIDEO_MODEL, prompt: "p", duration: 5 }, { path: "/v1/video/generations" }),
    );
    expect(made).toMatchObject({ task_id: made.id, status: "queued" });
    expect((await get(`/v1/video/generations/${made.id}`)).status).toBe(200);
    expect((await send("DELETE", "/v1/videos")).status).toBe(404);
    expect((await send("POST", `/v1/videos/${made.id}`)).status).toBe(404);
    expect((await send("DELETE", `/v1/videos/${made.id}/content`)).status).toBe(404);
    expect((await fetch(`${world.url}/v1/videos`)).status).toBe(401);
  });
});
