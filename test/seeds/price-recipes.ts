// Calls of the endpoints of prices that succeed, and a price list that is published as a person does it.
import type { PriceDraft } from "#contract/price-draft.ts";
import { findNewestPriceVersion, insertPriceVersion } from "#server/store/price-versions.ts";
import { asRoot, type TestApp } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";

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

/** A list of models.dev, prices in dollars a million. */
export function priceListOf(models: Readonly<Record<string, object>>): string {
  const entries = Object.entries(models).map(([model, cost]) => [model, { cost }]);
  return JSON.stringify({ openai: { models: Object.fromEntries(entries) } });
}

/** Compares a list; nothing is changed by it. */
export async function draftList(app: TestApp, models: Readonly<Record<string, object>>): Promise<PriceDraft> {
  const { data } = await app.call(asRoot, "POST", "/api/price/draft", { text: priceListOf(models) });
  return data;
}

/** Approves all of a draft that can be, with each row confirmed. */
export function approveDraft(app: TestApp, { id, revision, rows }: PriceDraft) {
  const chosen = rows.filter(({ verdict }) => verdict === "fine" || verdict === "doubtful");
  const choices = Object.fromEntries(chosen.map(({ model }) => [model, "confirmed"]));
  const body = { revision, choices, reason: "厂商调价", is_checked: true };
  return app.call(asRoot, "POST", `/api/price/draft/${id}/approve`, body);
}

/** Compares, approves and publishes a list. Returns the answer to the last. */
export async function publishList(app: TestApp, models: Readonly<Record<string, object>>) {
  const draft = await draftList(app, models);
  const { data } = await approveDraft(app, draft);
  return app.call(asRoot, "POST", `/api/price/draft/${draft.id}/publish`, { revision: data.revision });
}

/** Publishes a version that changes no price, over the newest; several may be of one second. Returns its number. */
export async function seedPriceVersion(
  { db, options, clock }: Pick<TestApp["ctx"], "db" | "options" | "clock">,
  created_at = clock.seconds(),
): Promise<number> {
  const id = ((await findNewestPriceVersion(db))?.id ?? 0) + 1;
  const row = { user_id: 1, username: "root", reason: "r", source: "", listed: 0, models: 0, undoes: 0 };
  await insertPriceVersion(db, { ...row, id, created_at, changes: "{}" });
  await options.announce();
  return id;
}

let input = 3;
/** A draft of one model that every server has a price for, each time another. */
const fuzzDraft = ({ app }: FuzzWorld) => {
  input += 0.01;
  return draftList(app, { "gpt-4o": { input, output: 10 } });
};

export const priceRecipes = (freshName: () => string): Readonly<Record<string, Recipe>> => ({
  "GET /api/price/model/one": () => ({ path: "/api/price/model/one?model=gpt-4o" }),
  "PUT /api/price/model": () => ({ body: { model: `model-${freshName()}`, mark: "", ratios: RATIOS } }),
  "POST /api/price/draft": () => ({ body: { text: priceListOf({ "gpt-4o": { input: 2.5, output: 10 } }) } }),
  "GET /api/price/draft/:id": async (world) => ({ path: `/api/price/draft/${(await fuzzDraft(world)).id}` }),
  "PUT /api/price/draft/:id": async (world) => {
    const { id, revision } = await fuzzDraft(world);
    return { path: `/api/price/draft/${id}`, body: { revision, choices: { "gpt-4o": "confirmed" } } };
  },
  "POST /api/price/draft/:id/approve": async (world) => {
    const { id, revision } = await fuzzDraft(world);
    const body = { revision, choices: { "gpt-4o": "confirmed" }, reason: "fuzz", is_checked: true };
    return { path: `/api/price/draft/${id}/approve`, body };
  },
  "POST /api/price/draft/:id/publish": async (world) => {
    const draft = await fuzzDraft(world);
    const { data } = await approveDraft(world.app, draft);
    return { path: `/api/price/draft/${draft.id}/publish`, body: { revision: data.revision } };
  },
  "POST /api/price/draft/:id/discard": async (world) => {
    const { id, revision } = await fuzzDraft(world);
    return { path: `/api/price/draft/${id}/discard`, body: { revision } };
  },
  "POST /api/price/version/:id/undo": async ({ app }) => {
    input += 0.01;
    const { data } = await publishList(app, { "gpt-4o": { input, output: 10 } });
    return { path: `/api/price/version/${data.id}/undo`, body: { reason: "fuzz" } };
  },
});
