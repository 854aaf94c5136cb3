// Which refusals count nowhere (requirements L07): all that limits give, and each lack of quota; nothing else, and none of an upstream's.
import { expect, test } from "vitest";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { isOfLimit, limitErrors } from "./limit-errors.ts";
import { localErrors } from "./local-errors.ts";

const row = {
  subject: "token",
  subject_name: "",
  model_pattern: "",
  kind: "rpm",
  time_window: "day",
} as const;
const reset = { resetsAt: 9, resetText: "", nowMs: 0 };

const ofLimits: Readonly<Record<keyof typeof limitErrors, RelayFault>> = {
  tooFast: limitErrors.tooFast(row, 1),
  tooManyAtOnce: limitErrors.tooManyAtOnce(row),
  usedUp: limitErrors.usedUp(row, reset),
  planUsedUp: limitErrors.planUsedUp(reset),
  planTooSmall: limitErrors.planTooSmall(),
  tooLarge: limitErrors.tooLarge(row),
  tooDear: limitErrors.tooDear(row),
};
const { userQuota, userDebt, tokenQuota, keyExhausted, tooMany } = localErrors;
const lacks = { userQuota, userDebt, tokenQuota, keyExhausted };

test.each(Object.entries(ofLimits))(
  "%s is of a limit, and not where an upstream says the same",
  (_, fault) => {
    expect(isOfLimit(fault)).toBe(true);
    expect(isOfLimit({ ...fault, upstreamStatus: fault.status })).toBe(false);
  },
);

test.each(Object.entries(lacks))("%s is a lack of quota", (_, make) => {
  expect(isOfLimit(make())).toBe(true);
});

test("limits that options set refuse too, and those of channels; what is wrong with a call, its key or its channels is none", () => {
  expect(isOfLimit(tooMany(1))).toBe(true);
  const { userDisabled, keyInvalid, bodyUnreadable, noChannel, channelsFull } = localErrors;
  expect(isOfLimit(channelsFull(1))).toBe(true);
  for (const fault of [userDisabled(), keyInvalid(), bodyUnreadable(), noChannel("g", "m")])
    expect(isOfLimit(fault), String(fault.code)).toBe(false);
});
