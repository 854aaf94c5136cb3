import { expect, test } from "vitest";
import { factsText, kindText, refundText, sourceText, stateOf, stepText, verdictText } from "./words.ts";

const NONE_BACK = { refunded_minor: 0, paid_minor: 100 };

test("what is stored has its words, and what has none is shown as it is", () => {
  expect([verdictText("amount"), verdictText("x")]).toEqual(["实付金额与订单不符", "x"]);
  expect(verdictText("closed")).toBe("已关闭");
  expect([kindText("poll"), kindText("x")]).toEqual(["查询", "x"]);
  expect([refundText("unknown"), sourceText("dispute")]).toEqual(["结果不明", "拒付"]);
  expect(stateOf({ ...NONE_BACK, status: "paid", review: "amount" })).toEqual({
    label: "未入账",
    tone: "warn",
    hint: "实付金额与订单不符",
  });
  expect(stepText({ verdict: "done", facts: '{"refund_no":"RF1","is_done":true}' })).toBe("退款");
  expect(stepText({ verdict: "done", facts: '{"as":"paid"}' })).toBe("已执行");
  const credited = { ...NONE_BACK, status: "credited", review: "" } as const;
  expect(stateOf(credited)).toEqual({ label: "已到账", tone: "good", hint: "" });
  expect(stateOf({ ...credited, refunded_minor: 1 }).label).toBe("部分退款");
  expect(stateOf({ ...credited, refunded_minor: 100 }).label).toBe("已退款");
});

test("facts are one line, whatever they are", () => {
  expect(factsText('{"trade_no":"4200","amount_minor":100}')).toBe("平台交易号 4200，金额 1.00");
  expect(factsText('{"amount_minor":3000,"currency":"CNY","trade_no":""}')).toBe("金额 ¥30.00");
  expect(factsText('{"source":"elsewhere","total_minor":1050}')).toBe("来源 平台退款，累计退款 10.50");
  expect(factsText('{"is_done":false,"source":"dispute","actor_id":1,"as":"paid","new":2}')).toBe(
    "结果 未退款，来源 拒付，操作人 #1，处理方式 按实付金额入账，new 2",
  );
  expect([factsText("broken"), factsText("1"), factsText("{}")]).toEqual(["", "", ""]);
});
