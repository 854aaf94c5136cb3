import { expect, test } from "vitest";
import { createTestDatabase, engines, newUser, seedUser } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./list.ts";

test.each(engines)("addresses that several accounts share stay with one of them on %s", async (engine) => {
  const database = await createTestDatabase(engine, "nothing");
  try {
    const before = await database.open({ migrations: MIGRATIONS.slice(0, 2) });
    const people = [
      { username: "deleted", email: "shared@example.com", status: 3 },
      { username: "banned", email: "shared@example.com", status: 2 },
      { username: "oldest", email: "Shared@Example.com", status: 1 },
      { username: "newest", email: "shared@example.com", status: 1 },
      { username: "alone", email: "Alone@example.com", status: 1 },
      { username: "none", email: "", status: 1 },
      { username: "none2", email: "", status: 1 },
    ];
    for (const person of people) await before.db.insertInto("users").values(newUser(person)).execute();
    await before.close();
    const after = await database.open();
    const rows = await after.db
      .selectFrom("users")
      .select(["username", "email", "external_login"])
      .orderBy("id")
      .execute();
    expect(Object.fromEntries(rows.map(({ username, email }) => [username, email]))).toEqual({
      deleted: "",
      banned: "",
      oldest: "shared@example.com",
      newest: "",
      alone: "alone@example.com",
      none: "",
      none2: "",
    });
    expect(rows.every(({ external_login }) => external_login === 0)).toBe(true);
    await expect(seedUser(after.db, { email: "alone@example.com" })).rejects.toThrow(/unique/i);
    await after.close();
  } finally {
    await database.drop();
  }
});
