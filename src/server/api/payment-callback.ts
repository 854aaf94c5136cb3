// The addresses that providers and returning payers come to: no session, no cross-site check, bounded and limited. They do not tell the
// caller why (requirements Y05, Y22, Y42).
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import { takeCallback } from "#server/payments/callback.ts";

const BODY_BYTES = 64 * 1024;
const SLUG = /^[0-9a-f]{32}$/;
const ORDER_NO = /^TG[0-9A-Z]{24}$/;

/** Undefined = there is no such address. Throws: AppError; the database's faults, so that the provider tells again. */
export async function answerCallback(
  ctx: Context,
  request: Request,
  { slug, address }: { slug: string; address: string },
): Promise<Response | undefined> {
  await ctx.limits.count([{ limit: LIMITS.payCallback, subject: address }], address);
  if (!SLUG.test(slug)) return undefined;
  const body = await readBytes(request);
  const at = request.url.indexOf("?");
  const reply = await takeCallback(ctx, slug, {
    method: request.method === "POST" ? "POST" : "GET",
    query: at === -1 ? "" : request.url.slice(at + 1),
    body,
    header: (name) => request.headers.get(name) ?? "",
  });
  if (!reply) return undefined;
  const type = reply.body.startsWith("{") ? "application/json" : "text/plain; charset=utf-8";
  return new Response(reply.body, { status: reply.status, headers: { "Content-Type": type } });
}

/** Where a payer who comes back goes on: an address without what the provider added. Credits nothing. */
export function returnPath(orderNo: string): string {
  return ORDER_NO.test(orderNo) ? `/topup/order/${orderNo}` : "/topup";
}

/** Throws: 413. */
async function readBytes(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES) throw faults.bodyTooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > BODY_BYTES) throw faults.bodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
