// The ladder of rooms: who may import whom. One rule per sentence, and the sentence is its comment.
// TypeScript is parsed by swc (@swc/core): without it nothing would be cruised and everything would pass, so
// test/house/house.test.ts counts the modules and keeps a planted tree that must fail.

/** The rooms of the server from top to bottom. A room imports rooms above it, never below, never on its own line. */
const SERVER_LADDER = [
  ["locale"],
  ["clock", "log", "events", "errors", "config", "secrets", "address"],
  ["egress", "pdf"],
  ["store"],
  ["coord"],
  ["limits"],
  ["options", "upstream"],
  ["money"],
  ["tools"],
  ["accounts", "alerts", "channels", "payments"],
  ["tasks"],
  ["context"],
  ["api", "relay", "jobs", "import"],
  ["ops"],
  ["app"],
  ["main"],
];

/** The steps of one relayed request, in their order: a step imports the steps above it; relay.ts calls them. */
const RELAY_LADDER = [
  ["http"],
  ["admission"],
  ["text"],
  ["media"],
  ["billing"],
  ["routing"],
  ["error-log"],
  ["services"],
  ["pass-limits", "tell-limits"],
  ["serve"],
  ["finish", "reserve-task"],
  ["submission"],
  ["queries", "realtime", "video", "stateful", "batch"],
  ["relay"],
];

/** From bytes to calls: what a wire is made of, what credentials and formats there are, what becomes of an answer, the call itself. */
const UPSTREAM_LADDER = [
  ["json", "cancellation"],
  ["errors"],
  ["usage"],
  ["hub"],
  ["signers", "dialects"],
  ["clients"],
  ["tokens"],
  ["handlers"],
  ["call"],
  ["realtime", "video"],
  ["stored", "batch"],
  ["preview"],
];

const CONSOLE_LADDER = [["base"], ["ui"], ["pages"], ["routes-guest"], ["routes"], ["app"], ["main"]];

const TESTS = "\\.test\\.tsx?$";

/** A room is a folder or one file: `money/…` or `clock.ts`. */
function room(side, names) {
  return `^src/${side}/(${names.join("|")})(/|\\.tsx?$)`;
}

/** The rules of one ladder: for each room, everything that it must not see. */
function ladder(side, lines) {
  return lines.flatMap((line, height) =>
    line.flatMap((name) => {
      const siblings = line.filter((other) => other !== name);
      const hidden = [...siblings, ...lines.slice(height + 1).flat()];
      if (hidden.length === 0) return [];
      return [
        {
          name: `ladder-${side.replace("/", "-")}-${name}`,
          comment: `${name} never imports what stands beside or below it: ${hidden.join(", ")}.`,
          severity: "error",
          from: { path: room(side, [name]), pathNot: TESTS },
          to: { path: room(side, hidden) },
        },
      ];
    }),
  );
}

/** Everything of a side belongs to a room of its ladder. */
function inLadder(side, lines) {
  return [
    {
      name: `${side.replace("/", "-")}-room-is-in-the-ladder`,
      comment: `Everything in src/${side} belongs to a room of its ladder; name a new room there first.`,
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: { path: `^src/${side}/.*\\.tsx?$`, pathNot: room(side, lines.flat()) },
    },
  ];
}

/** `names` may be imported by `from` alone. */
function only(name, comment, allowed, target) {
  return {
    name,
    comment,
    severity: "error",
    from: { path: "^src/", pathNot: [TESTS, ...allowed] },
    to: { path: target },
  };
}

/** A package, wherever npm put it. */
function npm(name) {
  return `node_modules/${name}/`;
}

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...ladder("server", SERVER_LADDER),
    ...ladder("server/relay", RELAY_LADDER),
    ...ladder("server/upstream", UPSTREAM_LADDER),
    ...inLadder("server", SERVER_LADDER),
    ...inLadder("server/relay", RELAY_LADDER),
    ...inLadder("server/upstream", UPSTREAM_LADDER),
    ...inLadder("console", CONSOLE_LADDER),
    ...ladder("console", CONSOLE_LADDER),
    {
      name: "contract-imports-zod-and-itself",
      comment: "contract imports zod and itself: it must run in the browser and in any tool.",
      severity: "error",
      from: { path: "^src/contract/", pathNot: TESTS },
      to: { pathNot: ["^src/contract/", npm("zod")] },
    },
    {
      name: "console-never-imports-server",
      comment: "console never imports server, not even types: the contract is what both agree on.",
      severity: "error",
      from: { path: "^src/console/", pathNot: TESTS },
      to: { path: "^src/server/" },
    },
    {
      name: "server-never-imports-console",
      comment: "server never imports console: it only serves the built files.",
      severity: "error",
      from: { path: "^src/server/" },
      to: { path: "^src/console/" },
    },
    {
      name: "pages-never-import-pages",
      comment: "pages never import pages: pages are leaves; share through ui.",
      severity: "error",
      from: { path: "^src/console/pages/([^/]+)", pathNot: TESTS },
      to: { path: "^src/console/pages/.*\\.tsx?$", pathNot: "^src/console/pages/$1(/|$)" },
    },
    {
      name: "dialects-are-pure",
      comment:
        "dialects, upstream's and clients', import only contract, json, errors, usage and hub: pure, so fixtures suffice.",
      severity: "error",
      from: { path: "^src/server/upstream/(dialects|clients)/", pathNot: TESTS },
      to: {
        pathNot: [
          "^src/contract/",
          "^src/server/upstream/(json|errors|hub)/",
          "^src/server/upstream/usage\\.ts$",
          "^src/server/upstream/(dialects|clients)/",
        ],
      },
    },
    {
      name: "dialects-never-import-dialects",
      comment: "one dialect never imports another: what three need goes to sse or hub.",
      severity: "error",
      from: {
        // A dialect of several files has its name first in all of them: gemini.ts, gemini-reply.ts.
        path: "^src/server/upstream/dialects/([a-z0-9]+)[-.]",
        pathNot: [TESTS, "/dialects/index\\.ts$"],
      },
      to: {
        path: "^src/server/upstream/dialects/",
        pathNot: ["/dialects/dialect\\.ts$", "^src/server/upstream/dialects/$1[-.]"],
      },
    },
    {
      name: "upstream-knows-no-state",
      comment:
        "upstream never imports store, money or channels: the channel test, the relay and a fixture call the same code.",
      severity: "error",
      from: { path: "^src/server/upstream/", pathNot: TESTS },
      to: { path: room("server", ["store", "money", "channels"]) },
    },
    only(
      "one-door-out",
      "only egress imports node:net and node:tls, and nobody another HTTP client: one door out.",
      ["^src/server/egress/"],
      [npm("undici"), "^(node:)?(net|tls)$"],
    ),
    only(
      "one-place-for-secrets",
      "only secrets imports node:crypto; everybody else asks it.",
      ["^src/server/secrets(/|\\.ts$)"],
      "^(node:)?crypto$",
    ),
    only(
      "hono-at-the-door",
      "hono is imported in app, ops and api/mount only: business code does not know HTTP.",
      ["^src/server/(main|app|ops|api/mount)(/|\\.ts$)"],
      [npm("hono"), npm("@hono/[^/]+")],
    ),
    only(
      "http-at-the-door",
      "node:http is known in main, app and relay/http only: business code does not know HTTP.",
      ["^src/server/(main|app|relay/http)(/|\\.ts$)"],
      "^(node:)?(http|https|http2)$",
    ),
    {
      name: "context-is-a-type",
      comment: "context is imported as a type everywhere except main and tests: no hidden construction.",
      severity: "error",
      from: { path: "^src/", pathNot: [TESTS, "^src/server/main(/|\\.ts$)"] },
      to: { path: "^src/server/context\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "server-needs-production-packages-only",
      comment:
        "server and contract import packages of `dependencies` only: the production install has no others.",
      severity: "error",
      from: { path: "^src/(server|contract)/", pathNot: TESTS },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "src-never-imports-tests",
      comment: "src never imports test, scripts or a *.test.ts file.",
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: { path: ["^test/", "^scripts/", TESTS] },
    },
    {
      name: "everything-resolves",
      comment: "an import that leads nowhere is an error, else the rules above would not see it.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // swc keeps type-only imports; `tsPreCompilationDeps` would ask for a TypeScript older than 7.
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    exclude: { path: ["/fixtures/"] },
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs", ".json"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
  },
};
