// Sends one mail over SMTP (requirements W4.7), with TLS from the start or by STARTTLS. The connection is opened here, checked by the
// address policy, and passed to nodemailer, which speaks the protocol.
import { connect, isIP, type Socket } from "node:net";
import type { Egress } from "./dispatcher.ts";
import { guardedLookup } from "./lookup.ts";
import { BlockedError, faultOf } from "./send.ts";

export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; else STARTTLS when the server offers it. */
  readonly isTls: boolean;
  /** Account and password; one of them "" = the server needs none. */
  readonly account: string;
  readonly password: string;
}

export interface Letter {
  /** The sender in the header and in the envelope. */
  readonly from: { readonly name: string; readonly address: string };
  readonly to: readonly string[];
  readonly subject: string;
  readonly html: string;
  /** Without angle brackets, e.g. `random@example.com`. */
  readonly messageId: string;
  readonly sentMs: number;
}

/** `problem` is short and typed, never the server's text, which may name the address. `mayRetry`: a later try may succeed. */
export type MailResult =
  | { readonly isSent: true }
  | { readonly isSent: false; readonly problem: string; readonly mayRetry: boolean };

const TIMEOUT_MS = 10_000;

/** Sends a mail within ten seconds. Never throws. */
export async function sendMail(
  egress: Pick<Egress, "policy">,
  server: MailServer,
  letter: Letter,
): Promise<MailResult> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let socket: Socket | undefined;
  try {
    // Loaded with the first mail: a process without a mail server never loads it.
    const { createTransport } = await import("nodemailer");
    socket = await open(egress, server, signal);
    const isPublic = egress.policy.judge(socket.remoteAddress ?? "", server.port) === "public";
    const hasLogin = server.account !== "" && server.password !== "";
    const transport = createTransport({
      host: server.host,
      port: server.port,
      secure: server.isTls,
      // A password is never sent in the clear, whatever the server offers.
      requireTLS: isPublic && hasLogin,
      tls: { rejectUnauthorized: true },
      connection: socket,
      socketTimeout: TIMEOUT_MS,
      ...(hasLogin ? { auth: { user: server.account, pass: server.password } } : {}),
    });
    await transport.sendMail({ ...compose(letter), signal });
    return { isSent: true };
  } catch (error) {
    return failureOf(error, signal);
  } finally {
    socket?.destroy();
  }
}

/** Connects to an address that the policy allows. Throws: the socket's error, BlockedError, or the signal's reason. */
function open(
  { policy }: Pick<Egress, "policy">,
  { host, port }: MailServer,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const verdict = isIP(host) === 0 ? "public" : policy.judge(host, port);
    if (verdict !== "public" && verdict !== "allowed") {
      reject(new BlockedError(`${host}:${port}`));
      return;
    }
    const socket = connect({ host, port, lookup: guardedLookup(policy, port) });
    const giveUp = () => socket.destroy(new Error("timeout"));
    signal.addEventListener("abort", giveUp, { once: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      signal.removeEventListener("abort", giveUp);
      socket.off("error", reject);
      // From here on nodemailer reports errors.
      socket.on("error", () => undefined);
      resolve(socket);
    });
  });
}

/** Removes line breaks from names and subjects: they must not inject headers. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}

function compose({ from, to, subject, html, messageId, sentMs }: Letter) {
  const sender = oneLine(from.address);
  const recipients = to.map(oneLine);
  return {
    from: { name: oneLine(from.name), address: sender },
    to: recipients.map((address) => ({ name: "", address })),
    envelope: { from: sender, to: recipients },
    subject: oneLine(subject),
    html,
    textEncoding: "base64",
    messageId: `<${oneLine(messageId)}>`,
    date: new Date(sentMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const;
}

/** Codes of nodemailer that a later try cannot change. */
const FINAL = new Set(["EAUTH", "ENOAUTH", "EENVELOPE", "ECONFIG", "EREQUIRETLS", "ETLS"]);
const FINAL_FAULTS = new Set(["blocked", "tls"]);

function failureOf(error: unknown, signal: AbortSignal): MailResult {
  if (signal.aborted) return { isSent: false, problem: "timeout", mayRetry: true };
  const { responseCode, code, originalCode } = fieldsOf(error);
  if (responseCode > 0) {
    const problem = `${code} ${responseCode}`.trim();
    return { isSent: false, problem, mayRetry: responseCode < 500 && code !== "EAUTH" };
  }
  if (FINAL.has(code)) return { isSent: false, problem: code, mayRetry: false };
  // Nodemailer reports every socket error as ESOCKET, with the original error inside.
  const said = originalCode === "" ? error : Object.assign(new Error(originalCode), { code: originalCode });
  const fault = faultOf(said).code;
  const problem = fault === "protocol" && code !== "" ? code : fault;
  return { isSent: false, problem, mayRetry: !FINAL_FAULTS.has(fault) };
}

function fieldsOf(error: unknown): { responseCode: number; code: string; originalCode: string } {
  if (!(error instanceof Error)) return { responseCode: 0, code: "", originalCode: "" };
  const responseCode = "responseCode" in error ? Number(error.responseCode) || 0 : 0;
  const text = (name: "code" | "originalCode") => {
    // `in` has just found the field.
    const value: unknown = name in error ? (error as Error & Record<string, unknown>)[name] : "";
    return typeof value === "string" ? value : "";
  };
  return { responseCode, code: text("code"), originalCode: text("originalCode") };
}
