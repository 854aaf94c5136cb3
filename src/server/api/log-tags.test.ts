// The log by a tag of tokens (requirements K14): of one's own, of a team and of all, with its sums, in every page, and none of what only looks alike.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MOST_TAGGED } from "#server/store/log-tags.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { bill, order } from "#test/worlds/ledger-world.ts";

describe.each(databases)("the log by tag on $name", (database) => {
  let app: TestApp;
  let anna: SeededUser;
  let team: number;

  beforeAll(async () => {
    app = await createAppOn(database);
    anna = await seedUser(app.ctx, "tagged");
    const ben = await seedUser(app.ctx, "namesake");
    team = (await act(anna.who, "POST", "/api/team/", { name: "标签" })).id;
    await act(anna.who, "POST", `/api/team/${team}/deposit`, { amount: 100_000 });
    const wallet = await app.ctx.db
      .selectFrom("teams")
      .select("wallet_id")
      .where("id", "=", team)
      .executeTakeFirstOrThrow();
    const made1 = await token(anna.who, { name: "web", tags: "prod,eu" });
    const made2 = await token(anna.who, { name: "job", tags: "prod" });
    const beginning = await token(anna.who, { name: "pro", tags: "production" });
    const bens = await token(ben.who, { name: "web", tags: "prod" });
    const teams = await token(anna.who, { name: "web", tags: "prod", team_id: team });
    // Its name is that of a token with the tag, and it has none.
    const namesake = await token(anna.who, { name: "job" });
    for (const [userId, tokenId, charge] of [
      [anna.id, made1, 1n],
      [anna.id, made2, 2n],
      [anna.id, beginning, 4n],
      [ben.id, bens, 8n],
      [wallet.wallet_id, teams, 16n],
      [anna.id, namesake, 32n],
      [anna.id, made1, 64n],
    ] as const) {
      const called = order({ userId, tokenId }, 100n);
      await app.ctx.ledger.reserve(called);
      await app.ctx.ledger.settle(bill(called, charge));
    }
    // The entries of a token that is gone stay its entries.
    await act(anna.who, "DELETE", `/api/token/${made2}`);
  });
  afterAll(() => app.close());

  async function act(who: Who, method: string, path: string, body?: object) {
    const answer = await app.call(who, method, path, body);
    expect(answer, `${method} ${path}`).toMatchObject({ success: true });
    return answer.data;
  }
  const token = async (who: Who, fields: object): Promise<number> =>
    (await act(who, "POST", "/api/token/", { unlimited_quota: true, ...fields })).id;
  async function read(who: Who, path: string) {
    const answer = await app.call(who, "GET", path);
    expect(answer.success, path).toBe(true);
    return [answer.data.map(({ quota }: { quota: number }) => quota), answer["total"]];
  }
  const sum = async (who: Who, path: string) => {
    const { quota, request } = await act(who, "GET", path);
    return [quota, request];
  };

  test("one's own: of all tokens that have it, newest first, deleted ones too, with their sums", async () => {
    const { who } = anna;
    expect(await read(who, "/api/log/self/?tag=prod&type=2")).toEqual([[64, 2, 1], 3]);
    expect(await sum(who, "/api/log/self/stat?tag=prod")).toEqual([67, 3]);
    expect(await read(who, "/api/log/self/?tag=prod&type=2&size=1&p=1")).toEqual([[2], 3]);
    expect(await read(who, "/api/log/self/?tag=eu&type=2")).toEqual([[64, 1], 2]);
    expect(await sum(who, "/api/log/self/stat?tag=eu")).toEqual([65, 2]);
    expect(await read(who, "/api/log/self/?tag=prod&token_name=job")).toEqual([[2], 1]);
    expect(await read(who, "/api/log/self/?tag=prod&model_name=none")).toEqual([[], 0]);
    for (const none of ["pro", "eu%2Cprod", "Prod", "_rod", "%25"]) {
      expect(await read(who, `/api/log/self/?tag=${none}`)).toEqual([[], 0]);
      expect(await sum(who, `/api/log/self/stat?tag=${none}`)).toEqual([0, 0]);
    }
  });

  test("of a team its own tokens, of all everybody's, of a user that user's", async () => {
    expect(await read(anna.who, `/api/team/${team}/log?tag=prod&type=2`)).toEqual([[16], 1]);
    expect(await read(asRoot, "/api/log/?tag=prod&type=2")).toEqual([[64, 16, 8, 2, 1], 5]);
    expect(await sum(asRoot, "/api/log/stat?tag=prod")).toEqual([91, 5]);
    expect(await read(asRoot, "/api/log/?tag=prod&type=2&username=namesake")).toEqual([[8], 1]);
    expect(await sum(asRoot, "/api/log/stat?tag=prod&username=namesake")).toEqual([8, 1]);
    expect(await read(asRoot, "/api/log/?tag=prod&username=nobody")).toEqual([[], 0]);
    const later = app.ctx.clock.seconds() + 60;
    expect(await read(asRoot, `/api/log/?tag=prod&start_timestamp=${later}`)).toEqual([[], 0]);
  });

  test("a tag of more tokens than a view can hold is refused with the way out", async () => {
    const many = await seedUser(app.ctx, "many");
    for (let index = 0; index <= MOST_TAGGED; index += 1) {
      const { id } = await seedToken(app.ctx, many.id, `many${index}`);
      await app.ctx.db.updateTable("tokens").set({ tags: "bulk" }).where("id", "=", id).execute();
      if (index === MOST_TAGGED - 1) expect(await read(many.who, "/api/log/self/?tag=bulk")).toEqual([[], 0]);
    }
    for (const path of ["/api/log/self/", "/api/log/self/stat"])
      expect(await app.call(many.who, "GET", `${path}?tag=bulk`)).toMatchObject({
        success: false,
        message: `有该标签的令牌超过 ${MOST_TAGGED} 个，请换一个标签，或同时按用户筛选`,
      });
  });
});
