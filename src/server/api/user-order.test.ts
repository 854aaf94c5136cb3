// How lists of users are ordered: amounts downwards, as in One API, which has no direction (requirements W3.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("users in order on $name", (database) => {
  let app: TestApp;
  let admin: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database);
    admin = await seedUser(app.ctx, "admin", { role: 10 });
    for (const [name, amount] of [
      ["a-some", 5],
      ["b-most", 9],
      ["c-least", 1],
    ] as const) {
      const { id } = await seedUser(app.ctx, name, {});
      const amounts = { quota: amount, used_quota: amount, request_count: amount };
      await app.ctx.db.updateTable("users").set(amounts).where("id", "=", id).execute();
    }
  });
  afterAll(() => app.close());

  /** The users of this test as a list with this query has them. */
  const listed = async (path: string) => {
    const { data } = await app.call(admin.who, "GET", path);
    const names = data.map(({ username }: { username: string }) => username);
    return names.filter((name: string) => name.includes("-")).join(" ");
  };
  const UP = "c-least a-some b-most";
  const DOWN = "b-most a-some c-least";

  test.each(["quota", "used_quota", "request_count"])(
    "%s goes downwards unless the client says otherwise",
    async (order) => {
      for (const said of ["", "&desc=", "&desc=true", "&desc=1"])
        expect(await listed(`/api/user/?order=${order}${said}`)).toBe(DOWN);
      for (const said of ["&desc=false", "&desc=0"])
        expect(await listed(`/api/user/?order=${order}${said}`)).toBe(UP);
      expect(await listed(`/api/user/search?keyword=b-&order=${order}`)).toBe("b-most");
    },
  );

  test("other columns go upwards unless the client says otherwise", async () => {
    expect(await listed("/api/user/?order=username")).toBe("a-some b-most c-least");
    expect(await listed("/api/user/?order=username&desc=true")).toBe("c-least b-most a-some");
  });
});
