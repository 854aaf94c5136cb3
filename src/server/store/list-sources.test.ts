// What older versions kept of the addresses of price lists loses its query, which may be secret (requirements X03).
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase, engines } from "#test/worlds/stores.ts";
import { listSources } from "./migrations/0082-list-sources.ts";
import { insertPriceDraft, listListedModels, saveListings } from "./price-drafts.ts";

test.each(engines)("an address that was kept with its query loses it on %s", async (engine) => {
  const database = await createTestDatabase(engine);
  const store = await database.open();
  onTestFinished(async () => {
    await store.close();
    await database.drop();
  });
  const { db, dialect } = store;
  const address = "https://lists.example/api.json";
  const sources = [`${address}?key=secret`, address, "prices?.json", "models.dev"];
  for (const source of sources) {
    const draft = {
      revision: 1,
      state: "open",
      created_at: 1,
      user_id: 1,
      username: "root",
      format: "models.dev",
      source,
      hash: "",
      listed: 1,
      listed_before: 0,
      changed: 0,
      warning: "",
      lines: "[]",
      choices: "{}",
      decided_by: "",
      decided_at: 0,
      reason: "",
      version: 0,
    } as const;
    await insertPriceDraft(db, draft);
    await saveListings(db, { source, models: ["m"], now: 1 });
  }
  for (const statement of listSources[dialect]) await sql.raw(statement).execute(db);
  const rows = await db.selectFrom("price_drafts").select("source").orderBy("id").execute();
  expect(rows.map(({ source }) => source)).toEqual([address, address, "prices?.json", "models.dev"]);
  const kept = await Promise.all(sources.map((source) => listListedModels(db, source)));
  expect(kept).toEqual([[], ["m"], ["m"], ["m"]]);
});
