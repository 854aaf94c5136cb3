import { expect, test } from "vitest";
import { ConfigError, readConfig } from "./config.ts";
import { redactText } from "./log/texts.ts";

test("an empty environment gives a private server with SQLite", () => {
  expect(readConfig({})).toMatchObject({
    port: 3000,
    host: "127.0.0.1",
    isLocal: true,
    dataDir: "./data",
    databaseUrl: undefined,
    workers: 1,
    egressAllow: [],
    trustedProxies: [],
    rateLimits: {
      api: { limit: 480, windowMs: 180_000 },
      web: { limit: 240, windowMs: 180_000 },
      critical: { limit: 20, windowMs: 1_200_000 },
    },
    logLevel: "info",
  });
});

test("empty variables count as absent", () => {
  expect(readConfig({ PORT: "", DATABASE_URL: " ", MASTER_KEY: "", LOG_LEVEL: "" })).toMatchObject({
    port: 3000,
    databaseUrl: undefined,
    masterKey: undefined,
    newMasterKey: undefined,
    logLevel: "info",
  });
});

test("SQL_DSN is an alias of DATABASE_URL", () => {
  expect(readConfig({ SQL_DSN: "postgres://u:p@h/db" }).databaseUrl).toBe("postgres://u:p@h/db");
});

test("a MySQL DSN is refused with a sentence that says what to do, and without the secret in it", () => {
  const read = () => readConfig({ SQL_DSN: "user:hunter2@tcp(db:3306)/oneapi" });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(/SQL_DSN .*PostgreSQL.*MySQL is not supported/);
  expect(read).not.toThrow(/hunter2/);
});

test("certificates cannot be switched off for the whole process", () => {
  expect(() => readConfig({ NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toThrow(/NODE_EXTRA_CA_CERTS/);
  expect(readConfig({ NODE_TLS_REJECT_UNAUTHORIZED: "1" }).port).toBe(3000);
});

test.each([
  ["PORT", "70000"],
  ["PORT", "abc"],
  ["PORT", "-1"],
  ["MASTER_KEY", "short"],
  ["INITIAL_ROOT_PASSWORD", "short"],
  ["INITIAL_ROOT_TOKEN", "has-a-dash-in-it-and-more"],
  ["DATA_DIR", '"/srv/tollgate"'],
  ["DATABASE_URL", "postgres://u:pass#word@h:5432/db"],
  ["DATABASE_URL", "postgres://u:p@h:99999/db"],
  ["EGRESS_ALLOW", "localhost"],
  ["EGRESS_ALLOW", "abc"],
  ["EGRESS_ALLOW", "10.0.0.0/99"],
  ["EGRESS_ALLOW", "[fd00::]/129:443"],
  ["EGRESS_ALLOW", "10.0.0.0/8:99999"],
  ["TRUSTED_PROXIES", "proxy.example"],
  ["TRUSTED_PROXIES", "10.0.0.0/8,300.1.1.1"],
  ["TRUSTED_PROXIES", "10.0.0.0/33"],
  ["LOG_LEVEL", "loud"],
  ["GITHUB_URL", "github.example"],
  ["GITHUB_API_URL", "ftp://github.example"],
  ["TURNSTILE_URL", "https://"],
])("%s=%s is refused by name", (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(name);
});

test.each([
  { PORT: "x", MASTER_KEY: "x", NEW_MASTER_KEY: "x", INITIAL_ROOT_PASSWORD: "x", INITIAL_ROOT_TOKEN: "x" },
  { INITIAL_ROOT_ACCESS_TOKEN: "x", DATABASE_URL: "postgres://h:x" },
  { SQL_DSN: "x" },
  { WORKERS: "2" },
])("what is wrong with %j is told in words that are not taken for a secret", (environment) => {
  let message = "";
  try {
    readConfig(environment);
  } catch (error) {
    message = String(error);
  }
  expect(message).toMatch(/^ConfigError: .*(must|needs)/);
  expect(redactText(message)).toBe(message);
});

test("GitHub and Turnstile are where they are, unless told otherwise", () => {
  expect(readConfig({})).toMatchObject({
    githubUrl: "https://github.com",
    githubApiUrl: "https://api.github.com",
    turnstileUrl: "https://challenges.cloudflare.com",
  });
  expect(readConfig({ GITHUB_URL: "http://127.0.0.1:9000/" }).githubUrl).toBe("http://127.0.0.1:9000");
});

test("every wrong variable is named at once", () => {
  expect(() => readConfig({ PORT: "x", LOG_LEVEL: "y" })).toThrow(/PORT.*\n.*LOG_LEVEL/);
});

test("several workers need PostgreSQL", () => {
  expect(() => readConfig({ WORKERS: "2" })).toThrow(/PostgreSQL/);
  expect(readConfig({ WORKERS: "2", DATABASE_URL: "postgres://h/db" }).workers).toBe(2);
});

test("egress rules have a CIDR and perhaps a port", () => {
  const { egressAllow } = readConfig({
    EGRESS_ALLOW: "127.0.0.0/8, 10.0.0.0/8:8000,[fd00::]/8:443,::1,10.1.1.1",
  });
  expect(egressAllow).toEqual([
    { cidr: "127.0.0.0/8", port: undefined },
    { cidr: "10.0.0.0/8", port: 8000 },
    { cidr: "fd00::/8", port: 443 },
    { cidr: "::1", port: undefined },
    { cidr: "10.1.1.1", port: undefined },
  ]);
});

test.each([
  ["127.0.0.1", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["192.168.1.2", false],
])("HOST=%s is local: %s", (host, isLocal) => {
  expect(readConfig({ HOST: host }).isLocal).toBe(isLocal);
});
