import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type SmtpEmulator, type SmtpOptions, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";
import { createEgress, type Egress } from "./dispatcher.ts";
import { type Letter, type MailServer, sendMail } from "./mail.ts";

const certificate = makeCertificate("localhost");
const letter: Letter = {
  from: { name: '收费站 "Tollgate"', address: "noreply@tollgate.test" },
  to: ["someone@example.com"],
  subject: "收费站 邮箱验证码",
  html: "<p>您的验证码为：<strong>123456</strong></p>\n.\n..two dots",
  messageId: "abc123@tollgate.test",
  sentMs: Date.UTC(2027, 0, 15, 8, 30),
};

describe("a letter", () => {
  let egress: Egress;
  const servers: SmtpEmulator[] = [];
  const trusted = getCACertificates("default");

  beforeAll(() => {
    egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }] });
  });
  afterEach(async () => {
    setDefaultCACertificates(trusted);
    for (const server of servers.splice(0)) await server.close();
  });
  afterAll(() => egress.close());

  async function start(options: SmtpOptions = {}) {
    const smtp = await startSmtp({ certificate, ...options });
    servers.push(smtp);
    const server: MailServer = {
      host: "localhost",
      port: smtp.port,
      isTls: options.tls === "implicit",
      account: "",
      password: "",
    };
    return { smtp, server };
  }

  test("carries the headers that mail servers expect", async () => {
    const { smtp, server } = await start();
    expect(await sendMail(egress, server, letter)).toEqual({ isSent: true });
    const { headers, ...got } = await smtp.take("someone@example.com");
    expect(got).toMatchObject({ from: "noreply@tollgate.test", subject: letter.subject, login: "" });
    expect(got.html.replaceAll("\r\n", "\n")).toBe(letter.html);
    expect(headers["subject"]).toMatch(/^=\?UTF-8\?B\?[\w+/=]+\?=/);
    expect(headers["from"]).toContain("<noreply@tollgate.test>");
    expect(headers["to"]).toContain("someone@example.com");
    expect(headers["message-id"]).toBe("<abc123@tollgate.test>");
    expect(headers["date"]).toBe("Fri, 15 Jan 2027 08:30:00 +0000");
    expect(headers["content-type"]).toMatch(/^text\/html; charset=utf-8$/i);
  });

  test("no line break in a name, a subject or an address becomes a header", async () => {
    const { smtp, server } = await start();
    const evil = "x\r\nBcc: victim@example.com\r\n\r\nbody";
    await sendMail(egress, server, {
      ...letter,
      subject: evil,
      from: { name: evil, address: letter.from.address },
      messageId: "m\r\nBcc: victim@example.com",
    });
    const { headers, to } = await smtp.take("someone@example.com");
    expect(headers).not.toHaveProperty("bcc");
    expect(to).toEqual(["someone@example.com"]);
  });

  test.each(["starttls", "implicit"] as const)(
    "goes encrypted, with the password after it: %s",
    async (tls) => {
      setDefaultCACertificates([...trusted, certificate.cert]);
      const { smtp, server } = await start({ tls });
      const login = { account: "me", password: "smtp-canary" };
      expect(await sendMail(egress, { ...server, ...login }, letter)).toEqual({ isSent: true });
      expect(await smtp.take("someone@example.com")).toMatchObject({
        isEncrypted: true,
        login: "me:smtp-canary",
      });
    },
  );

  test.each(["starttls", "implicit"] as const)(
    "is not sent to a server with an untrusted certificate: %s",
    async (tls) => {
      const { smtp, server } = await start({ tls });
      expect(await sendMail(egress, server, letter)).toEqual({
        isSent: false,
        problem: "tls",
        mayRetry: false,
      });
      expect(smtp.letters).toEqual([]);
    },
  );

  test("a refusal is final, a delay is not, and neither repeats the server's words", async () => {
    const { smtp, server } = await start();
    smtp.refusal = "550 5.1.1 no such user someone@example.com";
    expect(await sendMail(egress, server, letter)).toEqual({
      isSent: false,
      problem: "EENVELOPE 550",
      mayRetry: false,
    });
    smtp.refusal = "451 4.7.1 later, someone@example.com";
    expect(await sendMail(egress, server, letter)).toMatchObject({
      problem: "EENVELOPE 451",
      mayRetry: true,
    });
    const wrong = { ...server, account: "me", password: "wrong" };
    expect(await sendMail(egress, wrong, letter)).toMatchObject({ problem: "EAUTH 535", mayRetry: false });
  });

  test("an unreachable server allows a retry; one that the policy forbids does not", async () => {
    const { smtp, server } = await start();
    await smtp.close();
    servers.pop();
    expect(await sendMail(egress, server, letter)).toEqual({
      isSent: false,
      problem: "refused",
      mayRetry: true,
    });
    for (const host of ["169.254.169.254", "10.1.2.3", "[::1]", "0.0.0.0"]) {
      const answer = await sendMail(egress, { ...server, host }, letter);
      expect(answer).toMatchObject({ isSent: false, problem: expect.stringMatching(/^(blocked|dns)$/) });
    }
    const strict = createEgress({ allow: [] });
    // A name is checked by its resolved addresses.
    expect(await sendMail(strict, server, letter)).toMatchObject({ problem: "blocked", mayRetry: false });
    await strict.close();
  });

  test("a silent server is given up after ten seconds", { timeout: 30_000 }, async () => {
    const { smtp, server } = await start();
    smtp.hang = true;
    const startMs = performance.now();
    expect(await sendMail(egress, server, letter)).toEqual({
      isSent: false,
      problem: "timeout",
      mayRetry: true,
    });
    expect(performance.now() - startMs).toBeLessThan(14_000);
  });
});
