// What operators' tools ask: alive, ready, metrics. No labels with keys or names of users (requirements P08).

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Hono } from "hono";
import { UserStatus } from "#contract/user.ts";
import { accessTokenOf } from "#server/accounts/actors.ts";
import { isUnbound } from "#server/accounts/may.ts";
import { isServiceToken } from "#server/accounts/service-accounts.ts";
import { BASE_HEADERS } from "#server/api/mount.ts";
import type { Context } from "#server/context.ts";
import { renderSamples, type Sample } from "#server/events/counters.ts";
import { families } from "#server/events/families.ts";
import { isLocal } from "./address.ts";

interface Env {
  Bindings: { incoming?: { socket?: { remoteAddress?: string | undefined } } };
}

/** What holds at one moment is for no cache to keep (requirements H09). */
const HEADERS = { ...BASE_HEADERS, "Cache-Control": "no-store" } as const;

/** Builds /healthz, /readyz and /metrics. */
export function createOps(ctx: Context, isDraining: () => boolean): Hono<Env> {
  const app = new Hono<Env>();
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  app.get("/healthz", (http) => http.text("ok\n", 200, HEADERS));
  app.get("/readyz", async (http) => {
    const isReady = !isDraining() && (await ctx.store.ready());
    return isReady ? http.text("ready\n", 200, HEADERS) : http.text("not ready\n", 503, HEADERS);
  });
  app.get("/metrics", async (http) => {
    const peer = http.env?.incoming?.socket?.remoteAddress ?? "";
    // Where a proxy is known every client that comes through it looks local when it adds no header.
    const mayBeLocal =
      ctx.config.trustedProxies.length === 0 &&
      isLocal(peer, (name) => http.req.header(name)) &&
      !(ctx.defaultPassword.isInUse && (await ctx.proxySigns.isSeen()));
    const isAllowed = mayBeLocal || (await isAdmin(ctx, http.req.header("authorization"), peer));
    if (!isAllowed)
      return http.text(
        "metrics are for this machine, or with an administrator's access token\n",
        403,
        HEADERS,
      );
    const samples = [...processSamples(ctx, delay.percentile(99)), ...ctx.events.samples()];
    const text = renderSamples(samples, families);
    delay.reset();
    return http.text(text, 200, { ...HEADERS, "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  return app;
}

async function isAdmin(ctx: Context, authorization: string | undefined, peer: string): Promise<boolean> {
  const accessToken = accessTokenOf(authorization);
  if (accessToken === undefined) return false;
  // A service account is bound by its list, and no permission stands for the metrics.
  if (isServiceToken(accessToken)) return false;
  const actor = await ctx.actors.byAccessToken(accessToken, peer);
  return actor !== undefined && actor.status === UserStatus.enabled && isUnbound(actor);
}

function processSamples(ctx: Context, loopDelayNs: number): Sample[] {
  const { user, system } = process.cpuUsage();
  const memory = process.memoryUsage();
  const sample = (name: string, value: number): Sample => ({ name, labels: "", value });
  return [
    { name: "tollgate_info", labels: `version="${ctx.version}",node="${ctx.node}"`, value: 1 },
    sample("process_start_time_seconds", ctx.startedAt),
    sample("process_cpu_seconds_total", (user + system) / 1e6),
    sample("process_resident_memory_bytes", memory.rss),
    sample("process_heap_used_bytes", memory.heapUsed),
    sample("tollgate_event_loop_delay_p99_seconds", loopDelayNs / 1e9),
  ];
}
