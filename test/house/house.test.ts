// The house rules that no tool expresses (docs: ARCHITECTURE.md, AGENTS.md). Each test names what it forbids.
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { cruise, type ICruiseResult, type IForbiddenRuleType } from "dependency-cruiser";
import { describe, expect, test } from "vitest";
import { optionTable } from "#contract/option.ts";
import { providers } from "#contract/providers.ts";

const ROOT = join(import.meta.dirname, "../..");
const TESTS = /\.test\.tsx?$|\/fixtures\//;
const KILOBYTE = 1024;
const FIRST_SCRIPTS_BYTES = 200 * KILOBYTE;

interface Source {
  readonly path: string;
  /** Without comments. */
  readonly code: string;
}

function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Removes comments, leaving text in quotes alone (a URL holds two slashes). */
function withoutComments(text: string): string {
  const pattern = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return text.replace(pattern, (match) => (match.startsWith("/") ? " " : match));
}

/** The source files under `folder`, tests and fixtures left out. */
function sources(folder: string): Source[] {
  return globSync(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT })
    .filter((path) => !TESTS.test(path))
    .map((path) => ({ path, code: withoutComments(readText(path)) }));
}

/** `path: match` for every match of the pattern outside the files that may. */
function offences(folder: string, pattern: RegExp, allowed: RegExp): string[] {
  return sources(folder)
    .filter(({ path }) => !allowed.test(path))
    .flatMap(({ path, code }) => [...code.matchAll(pattern)].map(([match]) => `${path}: ${match}`));
}

interface Rules {
  readonly forbidden: IForbiddenRuleType[];
  readonly options: Record<string, unknown>;
}

async function cruiseTree(baseDir: string, changes: Record<string, unknown>): Promise<ICruiseResult> {
  const rules: Rules = createRequire(import.meta.url)(join(ROOT, ".dependency-cruiser.cjs"));
  const ruleSet = { forbidden: rules.forbidden };
  const { output } = await cruise(["src"], {
    ...rules.options,
    ruleSet,
    validate: true,
    baseDir,
    ...changes,
  });
  if (typeof output === "string") throw new Error(output);
  return output;
}

// Reads all of src; the limit ends what hangs, and a loaded machine is no reason.
describe("the ladder of rooms", { timeout: 600_000 }, () => {
  test("every source file was read, and none imports against the ladder", async () => {
    const { modules, summary } = await cruiseTree(ROOT, {});
    const read = new Set(modules.map(({ source }) => source));
    const unread = globSync("src/**/*.{ts,tsx}", { cwd: ROOT })
      .filter((path) => !path.includes("/fixtures/") && !path.endsWith(".d.ts"))
      .filter((path) => !read.has(path));
    expect(unread).toEqual([]);
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });

  test("a planted violation of each rule is found", async () => {
    const rules: Rules = createRequire(import.meta.url)(join(ROOT, ".dependency-cruiser.cjs"));
    const planted = join(ROOT, "test/fixtures/planted");
    const { summary } = await cruiseTree(planted, { exclude: { path: "^$" } });
    const found = new Set(summary.violations.map(({ rule }) => rule.name));
    const sentences = rules.forbidden
      .map(({ name }) => name ?? "")
      .filter((name) => !name.startsWith("ladder-"));
    expect(sentences.filter((name) => !found.has(name))).toEqual([]);
    expect(found).toContain("ladder-server-upstream");
    expect(found).toContain("ladder-server-relay-admission");
    expect(found).toContain("ladder-server-upstream-errors");
    expect(found).toContain("ladder-console-ui");
  });

  test("a room that appears in src has a place in the ladder", () => {
    const rules: Rules = createRequire(import.meta.url)(join(ROOT, ".dependency-cruiser.cjs"));
    const known = rules.forbidden.map(({ name }) => name ?? "");
    const rooms = globSync("src/server/*", { cwd: ROOT })
      .map((path) => path.replace(/^src\/server\/|\.ts$/g, ""))
      .filter((name) => !/\.test$|\.json$|\.d$/.test(name));
    // The last room imports everything and is the subject of no rule.
    expect(rooms.filter((name) => name !== "main" && !known.includes(`ladder-server-${name}`))).toEqual([]);
  });
});

interface Rule {
  readonly promise: string;
  readonly folder: "src" | "src/server";
  readonly pattern: RegExp;
  /** The files that may. */
  readonly allowed: RegExp;
  /** Something the pattern must find, lest it silently find nothing. */
  readonly planted: readonly string[];
}

const BALANCES = "quota|used_quota|remain_quota|request_count|invite_commission_micro|debt_quota";
/** Slugs that are words of their own in other places. */
const COMMON_WORDS: ReadonlySet<string> = new Set(["custom", "relay"]);
const NAMES = providers
  .flatMap(({ label, slug }) => (COMMON_WORDS.has(slug) ? [label] : [label, slug]))
  .map((name) => name.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"))
  .join("|");

const RULES: readonly Rule[] = [
  {
    promise: "only config reads process.env",
    folder: "src/server",
    pattern: /process\.env\b/g,
    allowed: /^src\/server\/config\.ts$/,
    planted: ["process.env.PORT"],
  },
  {
    promise: "only clock reads the time",
    folder: "src/server",
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bprocess\.hrtime\b/g,
    allowed: /^src\/server\/clock\.ts$/,
    planted: ["Date.now()", "new Date()", "process.hrtime()"],
  },
  {
    promise: "only secrets does cryptography",
    folder: "src/server",
    pattern: /["'](?:node:)?crypto["']|\bcrypto\.(?:randomUUID|getRandomValues|subtle)\b/g,
    allowed: /^src\/server\/secrets(\.ts|\/payment-crypto\.ts)$/,
    planted: ['from "node:crypto"', "crypto.randomUUID()"],
  },
  {
    promise: "chance that can be guessed chooses channels and places, and nothing that is secret",
    folder: "src",
    pattern: /\bMath\.random\b/g,
    allowed:
      /^src\/server\/(?:relay\/(?:routing\/(?:next-channel|pause)|queries\/count-tokens)|coord\/leases|channels\/key-(?:ring|weights)|egress\/http1\/pool)\.ts$/,
    planted: ["Math.random()"],
  },
  {
    // The log looks for what it hides; the audit log and the shipped password compare what is stored with what is stored.
    promise: "secrets and their hashes are not compared in a time that tells where they differ",
    folder: "src/server",
    pattern:
      /\w*(?:[Hh]ash|[Ss]ecret|[Pp]assword)\s*[!=]==?(?!=|\s*(?:undefined\b|null\b|""))|[!=]==?\s*(?:\w+\.)*\w*(?:[Hh]ash|[Ss]ecret|[Pp]assword)\b/g,
    allowed: /^src\/server\/(?:log\/texts|store\/audit|accounts\/default-password)\.ts$/,
    planted: ["row.key_hash === hash", "given !== options.secret", "body.password === stored"],
  },
  {
    promise: "only egress opens connections",
    folder: "src/server",
    pattern: /(?<![.\w])fetch\(|\bnew WebSocket\(|["']node:(?:net|tls|dns)["']/g,
    allowed: /^src\/server\/egress\//,
    planted: ["fetch(url)", 'import("node:net")'],
  },
  {
    promise: "only money writes balances",
    folder: "src/server",
    pattern: new RegExp(
      `updateTable\\(\\s*["'](?:users|tokens|channels)[^;]*?\\.set\\([^;]*?\\b(?:${BALANCES})\\b\\s*[:,}]|` +
        `\\bUPDATE\\s+"?(?:users|tokens|channels)"?\\s+SET\\b[^;\`]*?\\b(?:${BALANCES})"?\\s*=`,
      "gi",
    ),
    allowed: /^src\/server\/(?:money|store\/migrations|import)\//,
    planted: [
      'db.updateTable("users").set({ quota: 1 })',
      'db.updateTable("tokens")\n  .set((eb) => ({ remain_quota: eb("remain_quota", "-", 1) }))',
      "sql`UPDATE users SET name = 'x', used_quota = used_quota + 1`",
    ],
  },
  {
    promise: "nothing outside the catalogue knows a provider by its number, its label or its slug",
    folder: "src",
    pattern: new RegExp(
      `(?:channel|provider|target)\\w*\\??\\.type\\s*[!=]==?\\s*\\d|\\bchannel_?type\\s*[!=]==?\\s*\\d|\\bslug\\s*[!=]==?\\s*["']|` +
        `(?:[!=]==?|\\bcase|\\.(?:includes|has)\\()\\s*["'](?:${NAMES})["']|["'](?:${NAMES})["']\\s*[!=]==?`,
      "gi",
    ),
    allowed: /^src\/contract\/provider/,
    planted: [
      "channel.type === 14",
      "if (channelType == 3)",
      `label === "${providers[0]?.label}"`,
      'slug !== "custom"',
      'if (dialect === "anthropic")',
      '"azure" === name',
      'case "gemini":',
      'names.has("baidu")',
    ],
  },
];

describe("one place for each thing", () => {
  test.for(RULES)("$promise", ({ folder, pattern, allowed, planted }) => {
    expect(planted.filter((text) => text.search(pattern) < 0)).toEqual([]);
    expect(offences(folder, pattern, allowed)).toEqual([]);
  });

  test("nothing is left for later in the source", () => {
    const all = globSync("src/**/*.{ts,tsx}", { cwd: ROOT });
    expect(all.filter((path) => /\b(?:TODO|FIXME|XXX)\b/.test(readText(path)))).toEqual([]);
  });
});

/** Options that are stored, shown and validated, and whose effect belongs to parts that are still to be built. */
const OPTIONS_AHEAD: readonly string[] = [];

describe("nothing is declared in vain", () => {
  test.runIf(existsSync(join(ROOT, "src/server/main.ts")))("every option is read somewhere", () => {
    const all = [...sources("src/server"), ...sources("src/console")].map(({ code }) => code).join("\n");
    const unused = Object.keys(optionTable).filter((key) => !new RegExp(`\\b${key}\\b`).test(all));
    expect(unused.sort()).toEqual(OPTIONS_AHEAD);
  });

  const dialects = globSync("src/server/upstream/dialects/*.ts", { cwd: ROOT })
    .map((path) => path.replace(/^.*\/|\.ts$/g, ""))
    // A dialect of several files has its name first in all of them: gemini.ts, gemini-reply.ts.
    .filter((name) => !/^index$|^dialect$|\.test$|-/.test(name));

  test.each(dialects)("dialect %s has recorded cases", (name) => {
    const folder = `src/server/upstream/dialects/fixtures/${name}`;
    const cases = globSync(`${folder}/*/source.md`, { cwd: ROOT });
    expect(cases.length, `${folder}: plain, stream and fault, each with source.md`).toBeGreaterThanOrEqual(3);
  });
});

/** Windows of so many lines that stand in two places are copies. */
const COPY_LINES = 5;
const COPIED_SHARE = 0.03;

/** Lines that say something, without comments and imports. */
function significantLines(code: string): string[] {
  return code
    .replace(/^import [^;]*;$/gm, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /\w/.test(line));
}

/** How many of the lines stand in a window that occurs more than once, over all of them. */
function copiedShare(files: readonly (readonly string[])[]): number {
  const places = new Map<string, number[]>();
  let offset = 0;
  for (const lines of files) {
    for (let at = 0; at + COPY_LINES <= lines.length; at += 1) {
      const window = lines.slice(at, at + COPY_LINES).join("\n");
      places.set(window, [...(places.get(window) ?? []), offset + at]);
    }
    offset += lines.length;
  }
  const starts = [...places.values()].filter(({ length }) => length > 1).flat();
  const copied = starts.flatMap((start) => Array.from({ length: COPY_LINES }, (_, line) => start + line));
  return new Set(copied).size / offset;
}

describe("little is written twice", () => {
  test("dialects, and clients' formats, share less than 3 % of their lines", () => {
    for (const room of ["dialects", "clients"]) {
      const files = sources(`src/server/upstream/${room}`).map(({ code }) => significantLines(code));
      expect(files.length).toBeGreaterThan(10);
      expect(copiedShare(files), room).toBeLessThan(COPIED_SHARE);
    }
  });

  test("a copy is found", () => {
    const lines = Array.from({ length: 20 }, (_, line) => `line ${line};`);
    expect(copiedShare([lines, ["other"]])).toBe(0);
    expect(copiedShare([lines, lines.slice(3, 8)])).toBe(10 / 25);
  });
});

describe("a request to a channel has the channel's rules (requirements C32)", () => {
  const rooms = /^src\/server\/(?:upstream|channels|tasks|relay|jobs)\//;
  const sends = /\b(?:fetchJson|fetchText|fetchResponse)\(|\begress\.(?:send|connect)\(/;
  /** The calls of text, which put them on by themselves; what goes to others than channels: media that clients name, exchanges of tokens. */
  const apart = /^src\/server\/upstream\/(?:call\/(?:attempt|media)|signers\/token-cache)\.ts$/;

  test("what sends one makes it ready by `outgoing`", () => {
    const senders = sources("src/server").filter(({ path, code }) => rooms.test(path) && sends.test(code));
    expect(senders.length).toBeGreaterThan(5);
    const bare = senders.filter(({ path, code }) => !apart.test(path) && !/\boutgoing\(/.test(code));
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  test("only there and in a call's plan a credential is made", () => {
    const allowed =
      /^src\/server\/upstream\/(?:call\/(?:attempt|credential|outgoing)|video\/call|signers\/plain)\.ts$/;
    expect(offences("src/server", /\.sign\(/g, allowed)).toEqual([]);
  });
});

describe("who may do what is decided in one place", () => {
  test("only accounts/may.ts compares roles (requirements Z04, Z15)", () => {
    const elsewhere = /src\/server\/(accounts\/may|import\/users)\.ts$/;
    const compared =
      /(?:[<>]=?|[!=]==)\s*Role\.\w|\bRole\.\w+\s*(?:[<>]|[!=]==)|\brole\s*(?:[<>]=?|[!=]==)\s*10*\b/g;
    expect(offences("src/server", compared, elsewhere)).toEqual([]);
  });
});

describe("the documents tell the truth", () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(readText("package.json"));

  test.each(["AGENTS.md", "README.md", "README.zh-CN.md"])(
    "every npm command that %s names exists",
    (path) => {
      const named = [...readText(path).matchAll(/`npm (?:run )?([a-z][a-z:-]*)/g)].map(
        ([, name]) => name ?? "",
      );
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => name !== "ci" && !(name in scripts))).toEqual([]);
    },
  );

  test("every program that package.json starts exists", () => {
    const named = Object.values(scripts).flatMap(
      (line) => line.match(/\b(?:scripts|src)\/[\w./-]+\.[jt]s\b/g) ?? [],
    );
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test.each(["AGENTS.md", "ARCHITECTURE.md"])("every path that %s names exists", (path) => {
    const named = [...readText(path).matchAll(/`((?:src|test|scripts|docs)\/[\w./-]+)`/g)].map(
      ([, name]) => name ?? "",
    );
    expect(named.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });

  test("every room of the server stands in ARCHITECTURE.md's ladder, and every folder on AGENTS.md's map", () => {
    const drawn = /```\ncontract +[^`]*```/.exec(readText("ARCHITECTURE.md"))?.[0] ?? "";
    const named = drawn.split("\n").flatMap((line) => (line.split(/ {2,}/)[0] ?? "").split(" · "));
    const rooms = readdirSync(join(ROOT, "src/server"))
      .filter((name) => !/\.test\.ts$|\.json$/.test(name))
      .map((name) => name.replace(/\.ts$/, ""));
    expect([...new Set(rooms)].filter((room) => !named.includes(room))).toEqual([]);
    expect(named.filter((name) => /^[a-z]+$/.test(name) && ![...rooms, "contract"].includes(name))).toEqual(
      [],
    );
    const map = [...readText("AGENTS.md").matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([\w./-]+)`/g)].map(([, path]) => path),
    );
    const folders = globSync(["src/*/", "src/server/*/", "test/", "scripts/", "bench/"], { cwd: ROOT })
      .map((path) => path.replace(/\/$/, ""))
      .filter((path) => path !== "src/server");
    expect(folders.filter((path) => !map.includes(path))).toEqual([]);
  });

  test("AGENTS.md has at most 120 lines and a decision record at most 40 of 120 characters", () => {
    const lines = (path: string): number => readText(path).trimEnd().split("\n").length;
    expect(lines("AGENTS.md")).toBeLessThanOrEqual(120);
    const records = globSync("docs/decisions/*.md", { cwd: ROOT });
    expect(records.filter((path) => lines(path) > 40)).toEqual([]);
    const isWide = (path: string) =>
      readText(path)
        .split("\n")
        .some((line) => line.length > 120);
    expect(records.filter(isWide)).toEqual([]);
  });
});

describe.runIf(existsSync(join(ROOT, "dist/console/index.html")))("the built console", () => {
  const scripts = globSync("dist/console/**/*.js", { cwd: ROOT });

  test("holds nothing of the server", () => {
    const marks = [
      "node:sqlite",
      "node:crypto",
      "kysely",
      "INITIAL_ROOT_PASSWORD",
      "master.key",
      "DATABASE_URL",
      "src/server",
    ];
    const found = scripts.flatMap((path) =>
      marks.filter((mark) => readText(path).includes(mark)).map((mark) => `${path}: ${mark}`),
    );
    expect(found).toEqual([]);
  });

  test("loads at most 200 KB of compressed script before the first page", () => {
    const page = readText("dist/console/index.html");
    const first = scripts.filter((path) => page.includes(path.replace("dist/console", "")));
    const bytes = first.reduce((sum, path) => sum + gzipSync(readText(path)).length, 0);
    expect(first.length).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(FIRST_SCRIPTS_BYTES);
  });
});
