// A clock that is more than five minutes away from a provider's is told once while it lasts, and its end too. On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listConditions } from "#server/store/alerts.ts";
import { ROBOT, type Robots, startRobots } from "#test/emulators/robots.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { EpayWorld } from "#test/worlds/payment-world.ts";
import { clockOff } from "./clock-watch.ts";

test("the difference is in whole seconds, ours ahead is positive, and a date that cannot be read says nothing", () => {
  const date = "Fri, 27 Nov 2026 04:00:00 GMT";
  const sec = Date.parse(date) / 1_000;
  expect([clockOff(date, sec), clockOff(date, sec + 301), clockOff(date, sec - 2)]).toEqual([0, 301, -2]);
  expect([clockOff("", sec), clockOff("soon", sec)]).toEqual([undefined, undefined]);
});

describe.each(databases)("the clocks of payment providers on $name", (database) => {
  const world = new EpayWorld();
  let robots: Robots;
  beforeAll(async () => {
    await world.start(database);
    robots = await startRobots(world.clock.now);
  });
  afterAll(async () => {
    await world.stop();
    await robots.close();
  });

  test("300 seconds are right, 301 are told once until they agree again, also after a restart", async () => {
    const { id } = await world.site({ name: "主商户" });
    const target = await world.app.call(asRoot, "POST", "/api/alert/target", {
      ...{ kind: "webhook", name: "duty", is_enabled: true, address: `${robots.url}/hook` },
      ...{ secret: ROBOT.webhookSecret, events: ["payment_clock"], tells_end: true },
    });
    expect(target.message).toBe("");
    const told = () =>
      robots.taken.flatMap(({ body }) => body.data.alerts.map(({ title }: { title: string }) => title));
    const look = async () => {
      await world.app.call(asRoot, "POST", `/api/payment/instance/${id}/probe`, {});
      await world.app.ctx.alerts.idle();
      const { data } = await world.app.call(asRoot, "GET", "/api/payment/instance");
      return data[0].clock_fault;
    };
    const conditions = async () => (await listConditions(world.app.ctx.db, "payment_clock")).length;
    const { desk } = world.epay;
    for (const right of [0, 300, -300]) {
      desk.clockOffSec = right;
      expect([right, await look(), await conditions()]).toEqual([right, "", 0]);
    }
    desk.clockOffSec = -301;
    expect(await look()).toBe("系统时间比支付平台“主商户”快 301 秒");
    desk.mode = "500";
    expect(await look()).toContain("快 301 秒");
    expect([await conditions(), told().length]).toEqual([1, 1]);
    expect(told()[0]).toContain("快 301 秒");
    // Every node reads it from the database, and a process that just started hears that it is over.
    await world.restart();
    desk.mode = "ok";
    expect(await look()).toContain("快 301 秒");
    await world.restart();
    desk.clockOffSec = 0;
    expect([await look(), await conditions(), told().length]).toEqual(["", 0, 2]);
    expect(told()[1]).toContain("一致");
    desk.clockOffSec = 400;
    expect(await look()).toBe("系统时间比支付平台“主商户”慢 400 秒");
  });
});
