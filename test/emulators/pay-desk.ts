// What the emulators of payment providers have in common: orders, how to answer, keys, and a way to tell the server.
import { generateKeyPairSync } from "node:crypto";
import { rsaPrivateKey, rsaPublicKey } from "#server/secrets/payment-crypto.ts";
import { type Heard, type HttpEmulator, type Reply, startHttpEmulator } from "./http-emulator.ts";

export interface PayOrder {
  readonly orderNo: string;
  readonly tradeNo: string;
  /** Minor units. */
  amount: number;
  readonly currency: string;
  readonly notifyUrl: string;
  state: "open" | "paid" | "closed";
  refunded: number;
  /** By the emulator's clock; 0 = not paid. */
  paidMs: number;
}

/** How the next calls are answered; `lost` = the call takes effect, and its answer is thrown away; `silent` = the same, and no answer comes. */
export type PayMode = "ok" | "500" | "html" | "truncated" | "lost" | "redirect" | "huge" | "silent";

const HUGE_BYTES = 100 * 1024 * 1024;
let hugeBody: Buffer | undefined;

/** The clock of the emulator, so that signatures are of the test's time. Unit: ms. */
export type Now = () => number;

export class PayDesk {
  readonly orders = new Map<string, PayOrder>();
  mode: PayMode = "ok";
  /** How far its clock is away from the test's, in the `Date` of answers. */
  clockOffSec = 0;
  /** Runs before a new order is answered. */
  beforeCreateAnswers: (order: PayOrder) => Promise<void> = async () => undefined;
  /** Runs before anything is answered. */
  beforeAnswers: () => Promise<void> = async () => undefined;
  /** An order that is in no list of the provider; "" = all are. */
  hideFromList = "";
  readonly #now: Now;
  #server: HttpEmulator | undefined;
  #trades = 0;

  constructor(now: Now) {
    this.#now = now;
  }

  async start(answer: (heard: Heard) => Promise<Reply>): Promise<void> {
    this.#server = await startHttpEmulator(async (heard) => {
      await this.beforeAnswers();
      const reply = this.mode === "500" || this.mode === "redirect" ? {} : await answer(heard);
      if (this.mode === "silent") return undefined;
      const date = new Date(this.#now() + this.clockOffSec * 1_000).toUTCString();
      const told = distort(reply, this.mode);
      return { ...told, headers: { date, ...told.headers } };
    });
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  get heard(): readonly Heard[] {
    return this.#server?.heard ?? [];
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  /** Takes a new order; the same number gets the same order. */
  async take(parts: Pick<PayOrder, "orderNo" | "amount" | "currency" | "notifyUrl">): Promise<PayOrder> {
    const known = this.orders.get(parts.orderNo);
    if (known) return known;
    this.#trades += 1;
    const order: PayOrder = {
      ...parts,
      tradeNo: `4200${String(this.#trades).padStart(10, "0")}`,
      state: "open",
      refunded: 0,
      paidMs: 0,
    };
    this.orders.set(order.orderNo, order);
    await this.beforeCreateAnswers(order);
    return order;
  }

  /** Throws: when there is no such order. */
  order(orderNo: string): PayOrder {
    const order = this.orders.get(orderNo);
    if (!order) throw new Error(`the provider has no order ${orderNo}`);
    return order;
  }

  pay(orderNo: string): PayOrder {
    const order = this.order(orderNo);
    order.state = "paid";
    order.paidMs = this.#now();
    return order;
  }

  /** What was paid on a day by Beijing time, as a bill has it. */
  paidOn(day: string): PayOrder[] {
    return [...this.orders.values()].filter(
      ({ orderNo, state, paidMs }) =>
        state === "paid" && orderNo !== this.hideFromList && beijingText(paidMs).startsWith(day),
    );
  }
}

/** `2026-11-24 12:00:00` in Beijing. */
export function beijingText(ms: number): string {
  return new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
}

function distort(reply: Reply, mode: PayMode): Reply {
  if (mode === "500" || mode === "lost") return { status: 502, json: { error: "bad gateway" } };
  if (mode === "redirect") return { status: 302, json: {}, headers: { location: "http://127.0.0.1:1/" } };
  if (mode === "html")
    return { body: Buffer.from("<html>维护中</html>"), headers: { "content-type": "text/html" } };
  if (mode === "huge") {
    // Filled once: that takes longer than all else in a test.
    hugeBody ??= Buffer.alloc(HUGE_BYTES, " ");
    return { body: hugeBody };
  }
  if (mode !== "truncated") return reply;
  const whole = reply.body ? Buffer.from(reply.body) : Buffer.from(JSON.stringify(reply.json));
  return { ...reply, body: whole.subarray(0, Math.floor(whole.length / 2)) };
}

const pairs = new Map<string, ReturnType<typeof newKeyPair>>();

/** The pair of RSA keys of this owner, PEM texts and keys to sign and verify with: made once in a process, since that takes long. */
export function keyPair(owner: string) {
  const known = pairs.get(owner);
  if (known) return known;
  const pair = newKeyPair();
  pairs.set(owner, pair);
  return pair;
}

function newKeyPair() {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const privatePem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const publicPem = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
  const [privateKey, publicKey] = [rsaPrivateKey(privatePem), rsaPublicKey(publicPem)];
  if (!privateKey || !publicKey) throw new Error("keys made here are RSA");
  return { privatePem, publicPem, privateKey, publicKey };
}
