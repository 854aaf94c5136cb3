// A token's list of models: models are listed exactly when they can be called.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { modelList } from "#contract/model-list.ts";
import { databases } from "#test/worlds/app.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";

describe.each(databases)("models on $name", (database) => {
  const world = createRelayWorld({ database });

  test("models are listed exactly when they can be called, by the name that is asked for", async () => {
    const names = ["gpt-3.5-turbo", "gpt-4", "gpt-4-turbo", "gpt-4o", "gpt-4o-mini"];
    await world.addChannel({ models: names.join(","), mapping: { "my-own": "gpt-4" } });
    const entry = fc
      .tuple(
        fc.constantFrom("", "!"),
        fc.constantFrom(...names, "my-own", "gpt", "x"),
        fc.constantFrom("", "*"),
      )
      .map((parts) => parts.join(""));
    const isCalled = async (model: string) => (await world.ask({ ...QUESTION, model })).status === 200;
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 4 }), async (entries) => {
        await world.changeToken({ models: entries.join(",") });
        const headers = { authorization: `Bearer sk-${world.token.key}` };
        const answer = await fetch(`${world.url}/v1/models`, { headers });
        const { data } = (await answer.json()) as { data: { id: string }[] };
        const called = [];
        for (const name of [...names, "my-own"]) if (await isCalled(name)) called.push(name);
        expect(data.map(({ id }) => id)).toEqual(called);
        expect(called).toEqual(
          [...names, "my-own"].filter((name) => modelList(entries)?.has(name) !== false),
        );
      }),
      { numRuns: 25 },
    );
  });
});
