// Calls of the endpoints of invoices that succeed: each of a user who has paid for something.
import type { InvoiceProfile } from "#contract/invoice.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { orderChange, proofOf, seedInstance, seedOrder } from "#test/worlds/order-rows.ts";
import type { SeededUser } from "./seed.ts";

export const INVOICE_PROFILE: InvoiceProfile = {
  buyer: "company",
  kind: "normal",
  title: "示例科技有限公司",
  tax_number: "91350100M000100Y43",
  address: "",
  telephone: "",
  bank_name: "",
  bank_account: "",
  mail: "",
};

const WISH = { currency: "CNY", amount: "10.00", profile: INVOICE_PROFILE };

export function invoiceRecipes(
  freshUser: (world: FuzzWorld) => Promise<SeededUser>,
): Readonly<Record<string, Recipe>> {
  /** A new user who has paid 30 yuan. */
  async function payer(world: FuzzWorld): Promise<SeededUser> {
    const { ctx } = world.app;
    const user = await freshUser(world);
    const order = await seedOrder(ctx.db, { user_id: user.id, instance_id: await seedInstance(ctx.db) });
    await ctx.ledger.changeOrder(orderChange(order, proofOf(order)));
    return user;
  }
  async function asked(world: FuzzWorld): Promise<{ readonly id: number; readonly user: SeededUser }> {
    const user = await payer(world);
    const { data } = await world.app.call(user.who, "POST", "/api/invoice/", WISH);
    return { id: data.id, user };
  }
  const queue = (id: number, verb: string) => `/api/invoice_queue/${id}/${verb}`;
  const issued = { number: "24912000000012345678", link: "https://files.example/1.pdf", note: "" };
  return {
    "POST /api/invoice/": async (world) => ({ body: WISH, headers: (await payer(world)).who }),
    "POST /api/invoice/:id/cancel": async (world) => {
      const { id, user } = await asked(world);
      return { path: `/api/invoice/${id}/cancel`, headers: user.who };
    },
    "POST /api/invoice_queue/:id/issue": async (world) => ({
      path: queue((await asked(world)).id, "issue"),
      headers: asRoot,
      body: issued,
    }),
    "POST /api/invoice_queue/:id/refuse": async (world) => ({
      path: queue((await asked(world)).id, "refuse"),
      headers: asRoot,
      body: { note: "fuzz" },
    }),
    "POST /api/invoice_queue/:id/reverse": async (world) => {
      const { id } = await asked(world);
      await world.app.call(asRoot, "POST", queue(id, "issue"), issued);
      return { path: queue(id, "reverse"), headers: asRoot, body: { note: "fuzz" } };
    },
  };
}
