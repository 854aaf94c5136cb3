import { expect, test } from "vitest";
import { findUserByMailbox } from "#server/store/users.ts";
import { createTestDatabase, engines, newUser, seedUser } from "#test/worlds/stores.ts";
import { MIGRATIONS } from "./list.ts";

test.each(engines)("accounts that share a mailbox stay, and no new one joins them on %s", async (engine) => {
  const database = await createTestDatabase(engine, "nothing");
  try {
    const before = await database.open({ migrations: MIGRATIONS.slice(0, 10) });
    const people = [
      { username: "banned", email: "one@example.com", status: 2 },
      { username: "oldest", email: "one+a@example.com", status: 1 },
      { username: "newest", email: "one+b+c@example.com", status: 1 },
      { username: "tagged", email: "two+x@example.com", status: 1 },
      { username: "odd", email: "+odd@example.com", status: 1 },
      { username: "domain", email: "three@plus+example.com", status: 1 },
      { username: "none", email: "", status: 1 },
      { username: "none2", email: "", status: 1 },
    ];
    for (const person of people) await before.db.insertInto("users").values(newUser(person)).execute();
    await before.close();
    const { db, close } = await database.open();
    const rows = await db
      .selectFrom("users")
      .select(["username", "email", "mailbox"])
      .orderBy("id")
      .execute();
    expect(rows.map(({ username, email }) => [username, email])).toEqual(
      people.map(({ username, email }) => [username, email]),
    );
    expect(Object.fromEntries(rows.map(({ username, mailbox }) => [username, mailbox]))).toEqual({
      banned: "",
      oldest: "one@example.com",
      newest: "",
      tagged: "two@example.com",
      odd: "+odd@example.com",
      domain: "three@plus+example.com",
      none: "",
      none2: "",
    });
    for (const email of ["one+z@example.com", "two@example.com", "two+y@example.com", "+odd@example.com"])
      await expect(seedUser(db, { email })).rejects.toThrow(/unique/i);
    expect((await findUserByMailbox(db, "two+y@example.com"))?.username).toBe("tagged");
    await close();
  } finally {
    await database.drop();
  }
});
