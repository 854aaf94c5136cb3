// What a caller of the management API is told when something was thrown: our own refusals as they are, a database in trouble
// as 503, anything else as 500.
import { type AppError, asAppError, faults } from "#server/errors.ts";
import { faultKind, type StoreFaultKind } from "#server/store/fault.ts";

/** Troubles of the database that pass, or that the operator ends; trying again makes sense (reliability F02, F03). */
const PASSING: ReadonlySet<StoreFaultKind> = new Set(["busy", "full", "lost", "timeout"]);

/** The failure to render for anything thrown. */
export function failureOf(thrown: unknown): AppError {
  const error = asAppError(thrown);
  return error.code === "internal" && PASSING.has(faultKind(thrown)) ? faults.unavailable(thrown) : error;
}
