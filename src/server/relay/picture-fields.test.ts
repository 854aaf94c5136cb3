// Fields of requests for pictures that set their price: a form that the upstream may read otherwise is refused (requirements W12.1).
import { beforeEach, describe, expect, it } from "vitest";
import { json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const reply = { created: 1, data: [{ url: "https://x/1.png", revised_prompt: "p" }] };
const path = "/v1/images/generations";

beforeEach(() => world.addChannel({ models: "dall-e-2,dall-e-3" }));

/** Sends a form. */
function edit(fields: Record<string, string | Blob>): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ prompt: "p", ...fields })) form.append(name, value);
  form.append("image", new Blob([Buffer.from("png-bytes")], { type: "image/png" }));
  const headers = { authorization: `Bearer sk-${world.token.key}` };
  return fetch(`${world.url}/v1/images/edits`, { method: "POST", headers, body: form });
}

describe("fields that set the price of a picture", () => {
  it.each([
    [{ model: "dall-e-3", prompt: "p", quality: "HD" }, "quality_not_supported"],
    [{ model: "dall-e-3", prompt: "p", quality: " hd" }, "quality_not_supported"],
    [{ model: "dall-e-3", prompt: "p", quality: "high" }, "quality_not_supported"],
    [{ model: "dall-e-2", prompt: "p", quality: "hd" }, "quality_not_supported"],
  ])("refuses %j before anything is reserved", async (body, code) => {
    const { charged, entries } = await world.costOf(async () => {
      expect(await errorOf(await world.ask(body, { path }))).toMatchObject({
        status: 400,
        code,
        param: "quality",
      });
    });
    expect([charged, entries, world.upstream.journal.length]).toEqual([0, 0, 0]);
  });

  it.each([
    [{ size: "7x7" }, "size_not_supported"],
    [{ quality: "HD" }, "quality_not_supported"],
  ])("refuses %j of a model that is priced by the name it is mapped to", async (wish, code) => {
    await world.clearChannels();
    await world.addChannel({ models: "mine", mapping: { mine: "dall-e-3" } });
    const { charged, open } = await world.costOf(async () => {
      const response = await world.ask({ model: "mine", prompt: "p", ...wish }, { path });
      expect(await errorOf(response)).toMatchObject({ status: 400, code });
    });
    expect([charged, open, world.upstream.journal.length]).toEqual([0, 0, 0]);
    world.upstream.script(json(reply));
    const asked = { model: "mine", prompt: "p", quality: "hd" };
    const hd = await world.costOf(() => world.ask(asked, { path }));
    expect(hd.charged).toBe(40_000);
  });

  it.each<[string, Record<string, string | Blob>, string]>([
    ["a quality without a price", { quality: "HD" }, "quality"],
    ["a size without a price", { size: "7x7" }, "size"],
    ["a number in other words", { n: "1e1" }, "n"],
    ["a number in a file", { n: new File(["10"], "n.txt") }, "n"],
    ["a quality in a file", { quality: new File(["hd"], "q.txt") }, "quality"],
  ])("refuses %s in a form", async (_, fields, param) => {
    const response = await edit({ model: "dall-e-2", ...fields });
    expect(await errorOf(response)).toMatchObject({ status: 400, param });
    expect(world.upstream.journal).toHaveLength(0);
  });

  it.each(["N", "Quality", "Size", "\u017fize", "Model"])(
    "refuses a form whose field %s only some parsers read",
    async (name) => {
      const response = await edit({ [name]: "1" });
      expect(await errorOf(response)).toMatchObject({
        status: 400,
        message: expect.stringContaining("重复"),
      });
      expect(world.upstream.journal).toHaveLength(0);
    },
  );
});
