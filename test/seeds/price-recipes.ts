// Calls of the endpoints of price lists that succeed.
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";

/** A list of one model that every server has a price for. */
const PRICES = '{"openai":{"models":{"gpt-4o":{"cost":{"input":2.5,"output":10}}}}}';

const RATIOS = {
  model_ratio: "1.25",
  completion_ratio: "4",
  cache_ratio: "",
  cache_write_ratio: "",
  audio_ratio: "",
  audio_completion_ratio: "",
  image_ratio: "",
  image_completion_ratio: "",
};

/** What publishes a price over the newest version. */
async function publication({ app }: FuzzWorld, name: string) {
  const { data } = await app.call(asRoot, "POST", "/api/price/draft", { text: PRICES });
  const price = { model_ratio: "1.25", completion_ratio: "4", cache_ratio: "", cache_write_ratio: "" };
  const rows = [{ model: `model-${name}`, ...price }];
  return { base: data.base, listed: 1, source: "fuzz", reason: "fuzz", rows };
}

export const priceRecipes = (freshName: () => string): Readonly<Record<string, Recipe>> => ({
  "GET /api/price/model/one": () => ({ path: "/api/price/model/one?model=gpt-4o" }),
  "PUT /api/price/model": () => ({ body: { model: `model-${freshName()}`, mark: "", ratios: RATIOS } }),
  "POST /api/price/draft": () => ({ body: { text: PRICES } }),
  "POST /api/price/publish": async (world) => ({ body: await publication(world, freshName()) }),
  "POST /api/price/version/:id/undo": async (world) => {
    const { data } = await world.app.call(
      asRoot,
      "POST",
      "/api/price/publish",
      await publication(world, freshName()),
    );
    return { path: `/api/price/version/${data.id}/undo`, body: { reason: "fuzz" } };
  },
});
