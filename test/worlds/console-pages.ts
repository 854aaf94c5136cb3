// Every page of the console by the role that may open it, and an installation with something of everything to show on them.
import { beforeAll } from "vitest";
import { monthOf } from "#contract/month.ts";
import { startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import type { ConsoleWorld } from "./console-world.ts";
import { manage, rootKey } from "./process.ts";

/** Pages without a session. */
export const guestPages: readonly string[] = [
  "/",
  "/login",
  "/login?expired=true",
  "/first-run#used-up",
  "/register?aff=AB12C",
  "/register#invite=unknown",
  "/reset",
  "/user/reset?email=a%40b.com&token=1",
  "/about",
  "/terms",
  "/chat",
  "/docs",
  "/pricing",
  "/models",
  "/cheap",
  "/invoice",
  "/partnerplan",
  "/nowhere",
];

/** Pages of every signed-in user; `furnish` makes the token 2 of lihua. */
export const userPages: readonly string[] = [
  "/dashboard",
  "/token",
  "/token/add",
  "/token/edit/2",
  "/token/limit/2",
  "/token/limit/2/add",
  "/token/limit/2/edit/1",
  "/team",
  "/team/1",
  "/team/1?tab=project",
  "/team/1?tab=act",
  "/team/1?tab=invitation",
  "/team/join#unknown",
  "/t/1/dashboard",
  "/t/1/token",
  "/t/1/token/add",
  "/t/1/log",
  "/limit",
  "/log",
  "/task",
  "/topup",
  "/t/1/topup",
  "/subscription",
  "/statement",
  "/t/1/statement",
  `/statement/${monthOf(Date.now() / 1000)}`,
  "/partnerplan",
  "/playground",
  "/models",
  "/setting",
  "/setting?tab=security",
  "/user/edit",
];

/** Pages of administrators; `furnish` makes the rows named here. */
export const adminPages: readonly string[] = [
  "/dashboard",
  "/log",
  "/task",
  "/task?open=true",
  "/channel",
  "/channel/add",
  "/channel/edit/1",
  "/channel/keys/2",
  "/channel/models/1",
  "/channel/route?token_id=1&model=gpt-4o-mini",
  "/channel/rules",
  "/team?tab=all",
  "/limit",
  "/limit/add",
  "/limit/edit/2",
  "/redemption",
  "/redemption/add",
  "/redemption/edit/1",
  "/payment",
  "/payment?tab=payouts",
  "/payment?tab=invoices",
  "/payment?tab=instances",
  "/payment/add",
  "/plan",
  "/plan/add",
  "/reconciliation",
  "/audit",
  "/user",
  "/user/add",
  "/user/invitation",
  "/user/invitation/add",
  "/user/edit/2",
  "/user/token/2",
  "/user/token/2/add",
  "/user/token/2/limit/2",
  "/user/token/2/limit/2/add",
  "/setting?tab=operation",
  "/setting?tab=system",
  "/price",
  "/price?view=served",
  "/price/edit?model=gpt-5.4",
  "/price/edit",
  "/price/update",
  "/price/draft/1",
  "/price/ratio",
  "/margin",
  "/margin?by=day&days=30",
  "/setting?tab=other",
  "/alert",
  "/alert?tab=deliveries",
  "/alert?tab=conditions",
  "/alert/add",
  "/login-provider",
  "/login-provider/add",
  "/mail-domain",
  "/mail-domain/add",
  "/staff",
  "/staff/add",
  "/service-account",
  "/service-account/add",
];

/** Fills the installation before the tests of a file, with an upstream that answers until they end. */
export function furnishFirst(world: ConsoleWorld): void {
  beforeAll(async () => {
    const mock = await startAimock();
    await furnish(world, { url: mock.url, key: upstreamKey });
    return () => mock.stop();
  }, 180_000);
}

/** Fills the installation: channels in every state, tokens, codes, a notice, and calls through `upstream` in the log. */
export async function furnish(world: ConsoleWorld, upstream: { url: string; key: string }): Promise<void> {
  const { url } = world.server;
  const channel = {
    type: 1,
    key: upstream.key,
    base_url: upstream.url,
    models: "gpt-4o-mini,gpt-4o",
    group: "default,vip",
  };
  for (const name of ["上游一号", "上游二号", "上游三号"])
    await manage(url, "POST", "/api/channel/", { ...channel, name, priority: 5 });
  await manage(url, "PUT", "/api/channel/", { id: 2, status: 2 });
  await manage(url, "PUT", "/api/channel/", { id: 3, status: 3 });
  const csv = "key,name,weight\nsk-furnished-1,账号甲,3\nsk-furnished-2,账号乙,1\nsk-furnished-3,,1\n";
  await manage(url, "POST", "/api/channel/2/keys", { text: csv });
  await manage(url, "PUT", "/api/channel/2/keys", { ids: [2], status: 2 });
  await manage(url, "POST", "/api/redemption/", { name: "十月活动", quota: 500_000, count: 3 });
  await world.setOption("Notice", "**今晚** 23:00 维护");
  const lihua = await world.visit("lihua");
  for (const name of ["生产环境", "测试"]) {
    const data = { name, remain_quota: 500_000, expired_time: -1, unlimited_quota: false };
    await lihua.context.request.post("/api/token/", { data });
  }
  const limits = [{ kind: "quota", amount: 1_000_000, time_window: "day" }];
  await lihua.context.request.put("/api/token/2/limit", { data: { limits } });
  await lihua.context.request.post("/api/team/", { data: { name: "研发一组" } });
  await lihua.context.close();
  const default_ = { subject: "member", subject_name: "default" };
  await manage(url, "POST", "/api/limit/", {
    ...default_,
    kind: "quota",
    amount: 50_000_000,
    time_window: "month",
  });
  const text = '{"openai":{"models":{"gpt-4o":{"cost":{"input":2.75,"output":11,"cache_read":1.25}}}}}';
  await manage(url, "POST", "/api/price/draft", { text });
  for (const content of ["hello", "hello again", "weather"]) {
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content }] }),
    });
  }
}
