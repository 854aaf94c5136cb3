// kill -9 while users register: every account that exists has its gifts, and so has its inviter, exactly once, as soon as a
// server runs again; the ledger is exact (requirements W3.3, M12).
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, startServer } from "#test/worlds/process.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines } from "#test/worlds/stores.ts";

const ROUNDS = rounds(2, 25);
const CALLERS = 12;
const GIFTS = { QuotaForNewUser: 1_000, QuotaForInvitee: 200, QuotaForInviter: 30 } as const;

/** Registers one account after the other, until the server is gone; `onOne` is told of each that was answered. */
async function registerAll(url: string, prefix: string, affCode: string, onOne: () => void): Promise<void> {
  for (let serial = 0; ; serial += 1) {
    const body = { username: `${prefix}${serial}`, password: "river-stone-42", aff_code: affCode };
    try {
      await fetch(`${url}/api/user/register`, { method: "POST", body: JSON.stringify(body) });
      onOne();
    } catch {
      return;
    }
  }
}

interface Books {
  readonly users: readonly { readonly username: string; readonly quota: number }[];
  readonly promises: number;
  readonly mismatches: number;
}

async function readBooks(options: StoreOptions): Promise<Books> {
  const store = await openStore(options);
  try {
    const users = await store.db.selectFrom("users").select(["username", "quota"]).orderBy("id").execute();
    const promises = await store.db.selectFrom("signups").select("user_id").execute();
    return { users, promises: promises.length, mismatches: (await checkLedger(store.db)).length };
  } finally {
    await store.close();
  }
}

describe.each(engines)("registrations on %s", (engine) => {
  test(`bring their gifts exactly once through ${ROUNDS} kills`, { timeout: 120_000 }, async () => {
    const dataDir = testDirectory();
    const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
    if (postgres) onTestFinished(postgres.drop);
    const databaseUrl = postgres?.url;
    const env = { MASTER_KEY, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) };
    let server = await startServer(dataDir, env);
    onTestFinished(() => server.kill("SIGKILL"));
    for (const [key, value] of Object.entries(GIFTS))
      await manage(server.url, "PUT", "/api/option/", { key, value: String(value) });
    const host = { username: "host", password: "river-stone-42" };
    await fetch(`${server.url}/api/user/register`, { method: "POST", body: JSON.stringify(host) });
    const [found] = (await manage(server.url, "GET", "/api/user/search?keyword=host")) as {
      aff_code: string;
    }[];
    let pending = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      // On a busy machine the first takes longer than the time until the kill.
      const { promise: first, resolve: onOne } = Promise.withResolvers<void>();
      const callers = Array.from({ length: CALLERS }, (_, caller) =>
        registerAll(server.url, `r${round}c${caller}n`, found?.aff_code ?? "", onOne),
      );
      await first;
      await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 400));
      await server.kill("SIGKILL");
      await Promise.all(callers);
      pending += (await readBooks({ dataDir, databaseUrl })).promises;
      server = await startServer(dataDir, env);
    }
    await server.kill("SIGTERM");
    const { users, promises, mismatches } = await readBooks({ dataDir, databaseUrl });
    const guests = users.filter(({ username }) => /^r\dc/.test(username));
    process.stdout.write(`${engine}: ${guests.length} accounts, ${pending} without gifts when killed\n`);
    expect(promises).toBe(0);
    expect(mismatches).toBe(0);
    expect(guests.length).toBeGreaterThan(0);
    expect(new Set(guests.map(({ quota }) => quota))).toEqual(new Set([1_200]));
    expect(users.find(({ username }) => username === "host")?.quota).toBe(1_000 + guests.length * 30);
  });
});
