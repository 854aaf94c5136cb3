// The test files that have a process of their own, since they change or look at what a process has once. All others of the unit tests
// share their worker's modules; apart.test.ts finds those that must not.

/** Modules replaced, time and names of the process replaced, its environment changed; put back or not, other files run beside it. */
const REPLACING = [
  "src/console/base/{call,chunk,storage,trip}.test.ts",
  "src/console/pages/log/export.test.ts",
  "src/server/accounts/{mailer,master-key}.test.ts",
  "src/server/app/early-answer.test.ts",
  "src/server/api/sign-on-hang.test.ts",
  "src/server/channels/channel-caps.test.ts",
  "src/server/egress/mail.test.ts",
  "src/server/egress/http1/{pool,reuse,short-waits,stress,times,tls}.test.ts",
  "src/server/egress/proxy/tunnel{,-policy,-streams}.test.ts",
  "src/server/main/rotate-key.test.ts",
  "src/server/money/{group-commit,laws,ledger-faults,limits-laws,plan-times}.test.ts",
  "src/server/money/postgres/backend.test.ts",
  "src/server/payments/{order-flood,unclear}.test.ts",
  "src/server/{api,relay}/proxied-paths.test.ts",
  "src/server/relay/{channel-limits,proxies}.test.ts",
  "src/server/relay/routing/explained.test.ts",
  "src/server/store/{db,deferred-flush,migrate,wal-file}.test.ts",
];

/** The log cuts out whatever secret its process ever saw, so what a line shows depends on the tests before it. */
const LOGGING = ["src/server/log{,-fuzz,-lines,-secrets}.test.ts"];

/** How much memory the process takes is told of all that runs in it. */
const MEASURING = ["src/server/relay/{batch,video}-large.test.ts"];

export const APART: readonly string[] = [...REPLACING, ...LOGGING, ...MEASURING];
