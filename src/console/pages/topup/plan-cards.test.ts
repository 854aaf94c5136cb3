import { expect, test } from "vitest";
import { discountText, PLANS } from "./plan-cards.tsx";

test("the plans of the spec are at 6折 or 5折", () => {
  expect(PLANS.map((plan) => `$${plan.dollars} ${plan.yuan} ${discountText(plan)}`)).toEqual([
    "$10 6 6折",
    "$50 30 6折",
    "$120 60 5折",
    "$500 250 5折",
    "$1000 500 5折",
  ]);
});
