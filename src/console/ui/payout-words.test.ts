// The file of a bank run (requirements Y54, Y60): one row for each payout, and no account is a formula.
import { expect, test } from "vitest";
import type { Payout } from "#contract/payout.ts";
import { payoutsCsv, stateOf } from "./payout-words.ts";

test("accounts and names are texts, amounts are numbers", () => {
  const row: Payout = {
    id: 7,
    user_id: 3,
    username: "lihua",
    amount: "120.5",
    owed: "0",
    way: "alipay",
    account: "13800000000",
    name: "=李,华",
    state: "requested",
    note: "",
    created_at: 0,
    decided_at: 0,
  };
  const lines = payoutsCsv([row]).trimEnd().split("\r\n");
  expect(lines[1]).toBe(`TX7,3,lihua,120.5,支付宝,13800000000,"'=李,华",`);
  expect(stateOf({ state: "paying" }).label).toBe("处理中");
});
