// The answer of the management API when something was thrown: an AppError as it is, a database in trouble as 503, anything else
// as 500.
import { type AppError, asAppError, faults } from "#server/errors.ts";
import { isPassing } from "#server/store/fault.ts";

/** The failure to render for anything thrown. */
export function failureOf(thrown: unknown): AppError {
  const error = asAppError(thrown);
  return error.code === "internal" && isPassing(thrown) ? faults.unavailable(thrown) : error;
}
