// kill -9 around payments: orders with a gift code and an inviter, and the renewals of a plan, are told of while the process dies at any
// moment. What it had answered is booked, what is told again is booked once, and gift and commission come with their payment or not at all
// (requirements Y04, Y05, Y38, Z21).
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { insertUser } from "#server/store/users.ts";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { type StripeEmulator, startStripe } from "#test/emulators/stripe-emulator.ts";
import { createDice } from "#test/seeds/random.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, type ServerProcess, startServer } from "#test/worlds/process.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, newUser } from "#test/worlds/stores.ts";

const ROUNDS = rounds(4, 60);
const DOLLARS = [10, 20, 30];
/** At 500,000 per dollar. */
const QUOTA = DOLLARS.reduce((sum, dollars) => sum + dollars * 500_000, 0);
/** 5 % of it, for each side. */
const GIFT = QUOTA / 20;
/** 25,000 millionths of a yuan per dollar. */
const MICRO = 60 * 25_000;
const TOLD_AT_ONCE = 3;

type Sent = () => Promise<Response>;

/** Whether a provider may believe that the notice arrived. */
async function isTaken(sent: Sent): Promise<boolean> {
  try {
    const response = await sent();
    const text = await response.text();
    return response.status === 200 && (text === "success" || text === "");
  } catch {
    // The process was gone.
    return false;
  }
}

async function withStore<T>(
  options: StoreOptions,
  work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The root user buys; the two others earn by it. */
async function seedPartners(options: StoreOptions) {
  return withStore(options, async ({ db }) => {
    const [giver, inviter] = [
      await insertUser(db, newUser({ aff_code: "GIVER" })),
      await insertUser(db, newUser({ aff_code: "INVITER" })),
    ];
    await db.updateTable("users").set({ inviter_id: inviter }).where("id", "=", 1).execute();
    const root = await db.selectFrom("users").select("quota").where("id", "=", 1).executeTakeFirstOrThrow();
    return { giver, inviter, code: "GIVER", rootQuota: root.quota };
  });
}

/** What everything comes to when each payment was booked whole and once. */
async function checkBooks(
  options: StoreOptions,
  { giver, inviter, rootQuota, first }: Awaited<ReturnType<typeof seedPartners>> & { readonly first: string },
): Promise<void> {
  await withStore(options, async ({ db }) => {
    expect(await checkLedger(db)).toEqual([]);
    const users = await db
      .selectFrom("users")
      .select(["id", "quota", "invite_commission_micro"])
      .where("id", "in", [1, giver, inviter])
      .orderBy("id")
      .execute();
    expect(users).toEqual([
      { id: 1, quota: rootQuota + ROUNDS * (QUOTA + GIFT), invite_commission_micro: 0 },
      { id: giver, quota: ROUNDS * GIFT, invite_commission_micro: 0 },
      { id: inviter, quota: 0, invite_commission_micro: ROUNDS * MICRO },
    ]);
    const periods = await db
      .selectFrom("plan_periods")
      .select(["n", "starts_at", "ends_at"])
      .orderBy("starts_at")
      .execute();
    expect(periods.map(({ n }) => n)).toEqual(Array.from({ length: ROUNDS }, (_, index) => index + 1));
    for (const [index, period] of periods.entries())
      expect(period.starts_at).toBe(periods[index - 1]?.ends_at ?? period.starts_at);
    const renewal = await db.selectFrom("plan_renewals").selectAll().executeTakeFirstOrThrow();
    expect(renewal).toMatchObject({ order_no: first, status: "active", next_at: periods.at(-1)?.ends_at });
    const open = await db.selectFrom("payment_events").select("verdict").where("is_open", "=", 1).execute();
    expect(open).toEqual([]);
  });
}

/** A server that can be killed, with merchant accounts at both emulators. */
class Shop {
  readonly #start: () => Promise<ServerProcess>;
  readonly #epay: EpayEmulator;
  readonly #stripe: StripeEmulator;
  #server: ServerProcess | undefined;
  #byHand = { id: 0, path: "" };
  #cards = { id: 0, path: "" };
  #first = "";

  constructor(start: () => Promise<ServerProcess>, epay: EpayEmulator, stripe: StripeEmulator) {
    this.#start = start;
    this.#epay = epay;
    this.#stripe = stripe;
  }

  async start(): Promise<void> {
    this.#server = await this.#start();
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#server?.kill(signal);
  }

  manage(method: string, path: string, body?: unknown): Promise<unknown> {
    return manage(this.#server?.url ?? "", method, path, body);
  }

  async #account(draft: object): Promise<{ id: number; path: string }> {
    const common = { name: "测试", is_enabled: true, merchant_id: "1001" };
    const made = await this.manage("POST", "/api/payment/instance", { ...common, ...draft });
    // As the contract says.
    const { id, notify_url } = made as { id: number; notify_url: string };
    return { id, path: new URL(notify_url).pathname };
  }

  async #order(path: string, body: object): Promise<string> {
    return ((await this.manage("POST", path, body)) as { order_no: string }).order_no;
  }

  /** Opens the shop, and orders a plan that Stripe is to renew. Returns the order. */
  async open(): Promise<string> {
    const set = (key: string, value: string) => this.manage("PUT", "/api/option/", { key, value });
    await set("ServerAddress", "https://gate.example");
    await set("TopUpPlans", JSON.stringify(DOLLARS.map((dollars) => ({ dollars, yuan: String(dollars) }))));
    this.#byHand = await this.#account({
      provider: "epay-v1",
      methods: ["alipay"],
      fields: { base_url: this.#epay.desk.url, key: this.#epay.key },
    });
    const { desk, webhookSecret: webhook_secret } = this.#stripe;
    const fields = { base_url: desk.url, secret_key: "sk_test_1", webhook_secret };
    this.#cards = await this.#account({ provider: "stripe", methods: ["card"], fields });
    const draft = { name: "月付", is_enabled: true, price: "30", unit: "month", count: 1, quota: 1_000 };
    const made = await this.manage("POST", "/api/plan/", { ...draft, overflow: true });
    const { id: plan_id, version_id } = made as { id: number; version_id: number };
    const body = { plan_id, version_id, instance_id: this.#cards.id, method: "card", renews: true };
    this.#first = await this.#order("/api/plan/order", body);
    this.#stripe.desk.pay(this.#first);
    return this.#first;
  }

  #event(type: string, id: string): Sent {
    return () => {
      const { body, header } = this.#stripe.event(type, id);
      const headers = { "stripe-signature": header };
      return fetch((this.#server?.url ?? "") + this.#cards.path, { method: "POST", headers, body });
    };
  }

  /** What providers have to tell after a round of orders; `no` is "" where the order is made by the notice. */
  async notices(round: number, gift_code: string): Promise<{ readonly no: string; readonly sent: Sent }[]> {
    const found: { readonly no: string; readonly sent: Sent }[] = [];
    for (const dollars of DOLLARS) {
      const body = { dollars, instance_id: this.#byHand.id, method: "alipay", gift_code };
      const no = await this.#order("/api/payment/order", body);
      const query = this.#epay.noticeV1(this.#epay.desk.pay(no));
      found.push({ no, sent: () => fetch(`${this.#server?.url}${this.#byHand.path}?${query}`) });
    }
    const { billing, desk, sessionOf } = this.#stripe;
    const session = sessionOf(desk.order(this.#first)).id;
    const plan =
      round === 0
        ? { no: this.#first, sent: this.#event("checkout.session.completed", session) }
        : { no: "", sent: this.#event("invoice.paid", billing.renew(billing.of(this.#first)).id) };
    return [...found, plan];
  }
}

/** Tells of new payments, kills the process after so many answers, and tells again. */
async function killInRound(
  shop: Shop,
  { round, code, answers }: { readonly round: number; readonly code: string; readonly answers: number },
): Promise<void> {
  const notices = await shop.notices(round, code);
  let heard = 0;
  const told = notices.flatMap(({ no, sent }) =>
    Array.from({ length: TOLD_AT_ONCE }, async () => {
      const taken = await isTaken(sent);
      heard += 1;
      return taken ? no : "";
    }),
  );
  await expect.poll(() => heard, { interval: 1 }).toBeGreaterThanOrEqual(answers);
  await shop.stop("SIGKILL");
  const taken = new Set(await Promise.all(told));
  await shop.start();
  for (const no of taken)
    if (no !== "")
      expect(await shop.manage("GET", `/api/payment/manage/${no}`)).toMatchObject({
        order: { status: "credited" },
      });
  // Providers tell again until they are answered.
  for (const { sent } of notices) expect(await isTaken(sent)).toBe(true);
}

describe.each(engines)("payments on %s", (engine) => {
  test("survive kills at any moment, each booked whole and once", { timeout: 240_000 }, async () => {
    const dataDir = testDirectory();
    const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
    if (postgres) onTestFinished(postgres.drop);
    const [epay, stripe] = [await startEpay(Date.now), await startStripe(Date.now)];
    onTestFinished(() => epay.desk.close());
    onTestFinished(() => stripe.desk.close());
    const options = { dataDir, databaseUrl: postgres?.url };
    const env = { MASTER_KEY, ...(postgres ? { DATABASE_URL: postgres.url } : {}) };
    const shop = new Shop(() => startServer(dataDir, env), epay, stripe);
    onTestFinished(() => shop.stop("SIGKILL"));
    await shop.start();
    await shop.stop("SIGTERM");
    const partners = await seedPartners(options);
    await shop.start();
    const first = await shop.open();
    const dice = createDice(20_261_126);
    for (let round = 0; round < ROUNDS; round += 1)
      // One of the four rounds at least dies between the first answer and the last.
      await killInRound(shop, { round, code: partners.code, answers: round === 0 ? 1 : dice(12) });
    await shop.stop("SIGTERM");
    await checkBooks(options, { ...partners, first });
  });
});
