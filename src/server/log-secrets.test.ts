// What the process opens or is told, its logger cuts out of any line from then on; also after a restart (requirements K08).
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { asRoot } from "#test/worlds/app.ts";

const dataDir = mkdtempSync(join(tmpdir(), "tollgate-log-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const channelKey = 'odd channel key: w1th "quotes" & spaces';
const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
  type: "pkcs8",
  format: "pem",
});
const account = {
  type: "service_account",
  project_id: "some-project",
  client_email: "a@b.example",
  private_key: String(pem),
};
/** One line out of the middle. */
const accountKey = account.private_key.split("\n")[9] ?? "";
const smtpToken = "correct horse battery";
const turnstileSecret = "0x4AAAAAAA-turnstile-canary";
const masterKey = "a master key of thirty-two characters";
const secrets = { channelKey, accountKey, smtpToken, turnstileSecret, masterKey };

/** A process of its own as far as modules can tell: it knows nothing of what another has seen. */
async function start() {
  vi.resetModules();
  const { createLogger } = await import("#server/log.ts");
  const { createTestApp } = await import("#test/worlds/app.ts");
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ logLevel: "trace", pretty: false, now: Date.now, destination });
  const app = await createTestApp({ dataDir, logger, env: { LOG_LEVEL: "trace", MASTER_KEY: masterKey } });
  const log = (text: string): string => {
    lines.length = 0;
    logger.error({ text, err: new Error(text) }, "planted");
    return lines.join("");
  };
  return { app, log };
}

function expectCut(log: (text: string) => string): void {
  for (const [name, secret] of Object.entries(secrets)) {
    for (const form of [secret, JSON.stringify(secret), encodeURIComponent(secret), secret.slice(0, 20)]) {
      const text = textOf(log(`upstream said ${form} to us`));
      expect(text, name).toMatch(/^upstream said \S{0,4}\[redacted\]\S{0,30} to us$/);
      expect(text, name).not.toContain(secret.slice(0, 12));
    }
    const coded = Buffer.from(secret).toString("base64");
    expect(log(`upstream said ${coded} to us`), name).not.toContain(coded.slice(8, 24));
  }
}

function textOf(line: string): unknown {
  return JSON.parse(line).text;
}

test("keys of channels, secrets of options and the master key are cut as soon as they are there, and after a restart", async () => {
  const first = await start();
  expect(textOf(first.log(`upstream said ${turnstileSecret}`))).toContain(turnstileSecret);
  const { app } = first;
  for (const [type, key] of [
    [1, channelKey],
    [42, JSON.stringify(account)],
  ]) {
    const draft = { type, name: "canary", key, base_url: "", models: "m", group: "default", config: "{}" };
    const made = await app.call(asRoot, "POST", "/api/channel/", draft);
    expect(made.message).toBe("");
  }
  await app.ctx.options.set("SMTPToken", smtpToken);
  await app.ctx.options.set("TurnstileSecretKey", turnstileSecret);
  expectCut(first.log);
  expect(textOf(first.log("service_account a@b.example failed"))).toBe("service_account a@b.example failed");
  await app.close();

  const second = await start();
  expectCut(second.log);
  await second.app.close();
});
