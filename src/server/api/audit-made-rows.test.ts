// Administrators' writes that need something made for them first: each has its row in the audit log (requirements Z13).
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { guide } from "#test/seeds/fuzz-recipes.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { createFuzzWorld, type FuzzWorld, newPeople } from "#test/worlds/fuzz-world.ts";

const endpoints = Object.values(api)
  .flatMap((resource) => Object.values<Endpoint>(resource))
  .filter(({ path }) =>
    /^\/api\/(payment|payout_queue|plan|limit|login_provider|mail_domain|price|alert|team|staff|service_account|group|task|invoice_queue)\b|\/keys\b|\/upstream_models\/|^\/api\/token\/forget|^\/api\/user\/:id\/token/.test(
      path,
    ),
  )
  .filter(({ level, method }) => ["admin", "root"].includes(level) && method !== "GET")
  // Queries with a body, which change nothing.
  .filter(({ path }) => path !== "/api/price/draft" && !path.endsWith("/preview"));

describe.each(databases)("the audit log on $name", (database) => {
  let world: FuzzWorld;
  beforeAll(async () => {
    world = await createFuzzWorld(database, pino({ level: "silent" }));
  });
  afterAll(() => world.close());

  const read = () => world.app.call(asRoot, "GET", "/api/audit/?size=1");

  test.each(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    "%s has its row",
    async (route, endpoint) => {
      const people = await newPeople(world, endpoints.indexOf(endpoint) + 1);
      const { caller, path, body, headers } = await guide(world, people, { endpoint, route });
      const before = (await read()).total;
      const who = headers ?? people.callers[caller];
      expect(await world.app.call(who, endpoint.method, path, body)).toMatchObject({ success: true });
      const { total, data } = await read();
      expect(total).toBeGreaterThan(before);
      expect(data[0].action).toMatch(
        /^(payment|payout|plan|order|limit|login_provider|mail_domain|price|channel|alert|team|token|staff|service|user|group|task|invoice)\./,
      );
    },
  );
});
