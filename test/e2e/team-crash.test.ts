// kill -9 before each statement of a member's removal (requirements O06): afterwards he is a member with his cap and his tokens, or he is
// none, and all his tokens went where the owner said; never something between.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { insertLimit } from "#server/store/limits.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, startServer } from "#test/worlds/process.ts";
import { IS_SOAK } from "#test/worlds/soak.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";
import { seedMember, seedTeamToken } from "#test/worlds/teams.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "../worlds/kill-at-statement.ts")).href;
/** Between the places where the process is killed, in statements. */
const STEP = IS_SOAK ? 1 : 5;
const TOKENS = 3;

interface People {
  /** A manager, to whom tokens may go. */
  readonly heir: number;
  /** With tokens and a cap. */
  readonly member: number;
}

/** A team of root with such people; no server runs on the database. */
async function seed(where: StoreOptions): Promise<People> {
  const store = await openStore(where);
  try {
    const { db } = store;
    const { wallet_id: wallet } = await db.selectFrom("teams").select("wallet_id").executeTakeFirstOrThrow();
    const [heir, member] = [await seedUser(db), await seedUser(db)];
    await seedMember(db, heir, wallet, "manager");
    for (let token = 0; token < TOKENS; token += 1) await seedTeamToken(db, member, wallet);
    const seats = db.selectFrom("team_members").select("id").where("user_id", "=", member);
    const { id: subject_id } = await seats.executeTakeFirstOrThrow();
    await insertLimit(db, newLimit({ subject: "seat", subject_id, amount: 1_000, time_window: "day" }));
    return { heir, member };
  } finally {
    await store.close();
  }
}

/** Memberships of the member, caps, and how many tokens each has. */
async function stateOf(where: StoreOptions, { heir, member }: People) {
  const store = await openStore(where);
  try {
    const { db } = store;
    const seats = await db.selectFrom("team_members").select("id").where("user_id", "=", member).execute();
    const caps = await db.selectFrom("limits").select("id").where("deleted_at", "=", 0).execute();
    const tokens = await db.selectFrom("tokens").select("user_id").where("deleted_at", "=", 0).execute();
    const of = (user: number) => tokens.filter(({ user_id }) => user_id === user).length;
    return { seats: seats.length, caps: caps.length, member: of(member), heir: of(heir) };
  } finally {
    await store.close();
  }
}

describe.each(engines)("a member's removal on %s", (engine) => {
  // The places of one kind stand between those of the others.
  const apart = IS_SOAK ? 0 : engine === "postgres" ? 1 : 0;
  test.each([
    ["handed on", TOKENS, 1 + apart],
    ["ended", 0, IS_SOAK ? 1 : 3 + apart],
  ])(
    "is whole or has not been, before whichever statement the process is killed; tokens are %s",
    {
      timeout: 600_000,
    },
    async (_, inherited, first) => {
      const dataDir = testDirectory();
      const armed = join(dataDir, "kill-at");
      const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
      if (postgres) onTestFinished(postgres.drop);
      const where = { dataDir, databaseUrl: postgres?.url };
      const env = {
        ...{ MASTER_KEY, NODE_OPTIONS: `--import ${PRELOAD}?at=${encodeURIComponent(armed)}&of=acts` },
        ...(postgres && { DATABASE_URL: postgres.url }),
      };
      let server = await startServer(dataDir, env);
      onTestFinished(() => server.kill("SIGKILL"));
      await manage(server.url, "POST", "/api/team/", { name: "crash" });
      await server.kill("SIGTERM");
      const people = await seed(where);
      const before = { seats: 1, caps: 1, member: TOKENS, heir: 0 };
      const after = { seats: 0, caps: 0, member: 0, heir: inherited };

      /** Asks for the removal; returns whether the process lived to answer. The server has ended afterwards. */
      async function remove(at: number): Promise<boolean> {
        server = await startServer(dataDir, env);
        writeFileSync(armed, String(at));
        const query = `user_id=${people.member}&heir_id=${inherited === 0 ? 0 : people.heir}`;
        const answers = manage(server.url, "DELETE", `/api/team/1/member?${query}`);
        const isAnswered = await answers.then(
          () => true,
          () => false,
        );
        rmSync(armed, { force: true });
        if (isAnswered) await server.kill("SIGTERM");
        else await server.exited;
        return isAnswered;
      }

      expect(await stateOf(where, people)).toEqual(before);
      let kills = 0;
      for (; !(await remove(first + kills * STEP)); kills += 1) {
        const state = await stateOf(where, people);
        expect([before, after], `killed before statement ${first + kills * STEP}`).toContainEqual(state);
        // It was written, and only the answer did not come.
        if (state.seats === 0) break;
      }
      expect(await stateOf(where, people)).toEqual(after);
      expect(kills).toBeGreaterThan(1);
    },
  );
});
