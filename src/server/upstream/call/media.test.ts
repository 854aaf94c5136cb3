import { createServer } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEgress } from "#server/egress/dispatcher.ts";
import type { EgressRequest, Sink } from "#server/egress/send.ts";
import { type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { inlineMedia } from "./media.ts";

function requestOf(...urls: readonly string[]): HubRequest {
  const parts = urls.map((url) => ({ kind: "image" as const, source: { kind: "url" as const, url } }));
  return {
    model: "m",
    isStream: false,
    messages: [{ role: "user", parts: [{ kind: "text", text: "look" }, ...parts] }],
  };
}

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly pieces?: readonly Buffer[];
}

/** A fake internet that always gives the same response, and the calls it received. */
function internet({ status = 200, type = "image/png", pieces = [Buffer.from("A")] }: Answer = {}) {
  const asked: EgressRequest[] = [];
  const send = (order: EgressRequest, sink: Sink) => {
    asked.push(order);
    let isAborted = false;
    queueMicrotask(() => {
      sink.onStart(status, { "content-type": type });
      for (const piece of pieces) if (!isAborted) sink.onData(piece);
      if (!isAborted) sink.onEnd();
    });
    const abort = () => {
      isAborted = true;
    };
    return { isSent: true, pause: () => undefined, resume: () => undefined, abort };
  };
  return { asked, send };
}

describe("media given by URL", () => {
  it("are inlined, each fetched once and from public hosts only", async () => {
    const net = internet();
    const url = "https://example.com/a.png?x=1";
    const { messages } = await inlineMedia(net, requestOf(url, url));
    const source = { kind: "data", mime: "image/png", base64: "QQ==" };
    expect(messages[0]?.parts.slice(1)).toEqual([
      { kind: "image", source },
      { kind: "image", source },
    ]);
    expect(net.asked).toHaveLength(1);
    expect(net.asked[0]).toMatchObject({
      origin: "https://example.com",
      path: "/a.png?x=1",
      publicOnly: true,
    });
  });

  it("stay where they are if the upstream opens them itself", async () => {
    const net = internet();
    const request = requestOf("gs://bucket/a.png");
    expect(await inlineMedia(net, request, (url) => url.startsWith("gs:"))).toEqual(request);
    expect(net.asked).toEqual([]);
  });

  const MEGABYTE = Buffer.alloc(1024 * 1024);
  it.each([
    ["a page", { type: "text/html" }],
    ["a thing without a type", { type: "" }],
    ["a redirect", { status: 302 }],
    ["an error", { status: 404 }],
    ["more than 10 MiB", { pieces: Array.from({ length: 11 }, () => MEGABYTE) }],
  ])("are refused: %s", async (_, answer) => {
    await expect(inlineMedia(internet(answer), requestOf("https://example.com/a"))).rejects.toThrow(
      Unmappable,
    );
  });

  it("are refused together above 32 MiB, and above 16 of them", async () => {
    const pieces = Array.from({ length: 9 }, () => MEGABYTE);
    const addresses = (count: number) =>
      Array.from({ length: count }, (_, at) => `https://example.com/${at}`);
    await expect(inlineMedia(internet({ pieces }), requestOf(...addresses(4)))).rejects.toThrow(Unmappable);
    await expect(inlineMedia(internet(), requestOf(...addresses(17)))).rejects.toThrow(Unmappable);
  });

  it.each(["ftp://example.com/a", "file:///etc/passwd", "no address"])("are refused: %s", async (url) => {
    const net = internet();
    await expect(inlineMedia(net, requestOf(url))).rejects.toThrow(Unmappable);
    expect(net.asked).toEqual([]);
  });

  it("are never fetched from internal hosts, even hosts that channels may use", async () => {
    let calls = 0;
    const server = createServer((_, res) => {
      calls += 1;
      res.writeHead(200, { "content-type": "image/png" }).end("secret");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }] });
    onTestFinished(async () => {
      await egress.close();
      server.close();
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"]) {
      const refused = inlineMedia(egress, requestOf(`http://${host}:${address.port}/x`));
      await expect(refused).rejects.toThrow("无法读取该地址的图片或文件");
    }
    expect(calls).toBe(0);
  });
});
