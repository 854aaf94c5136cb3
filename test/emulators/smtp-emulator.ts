// A mail server for a test: plain, STARTTLS or TLS from the start; takes mails and shows them decoded.
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";
import type { Certificate } from "#test/seeds/certificate.ts";

export interface ReceivedLetter {
  readonly from: string;
  readonly to: string[];
  /** Names in lower case, values unfolded and as they came. */
  readonly headers: Readonly<Record<string, string>>;
  readonly subject: string;
  readonly html: string;
  readonly isEncrypted: boolean;
  /** `user:password` of AUTH PLAIN; "" = none was given. */
  readonly login: string;
  readonly raw: string;
}

export interface SmtpEmulator {
  readonly port: number;
  readonly letters: ReceivedLetter[];
  /** Resolves with the first mail to an address that no test has taken yet. */
  take(to: string): Promise<ReceivedLetter>;
  /** What RCPT is answered with instead of 250, while set. */
  refusal: string | undefined;
  /** Takes the connection and says nothing. */
  hang: boolean;
  /** Most connections open at once so far. */
  readonly mostConnections: number;
  /** Ends every connection. */
  drop(): void;
  close(): Promise<void>;
}

export interface SmtpOptions {
  readonly certificate?: Certificate | undefined;
  /** `implicit` needs a certificate; so does `starttls`. */
  readonly tls?: "none" | "starttls" | "implicit";
}

interface Talk {
  from: string;
  to: string[];
  login: string;
  isEncrypted: boolean;
  data: string | undefined;
}

const TAKE_MS = 5_000;

export async function startSmtp({ certificate, tls = "none" }: SmtpOptions = {}): Promise<SmtpEmulator> {
  const letters: ReceivedLetter[] = [];
  const sockets = new Set<Socket>();
  const taken = new Set<ReceivedLetter>();
  let most = 0;
  const secrets = certificate ? { key: certificate.key, cert: certificate.cert } : {};

  function greet(socket: Socket): void {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    if (emulator.hang) return;
    socket.write("220 mail.test ESMTP\r\n");
    converse(socket, { from: "", to: [], login: "", isEncrypted: tls === "implicit", data: undefined });
  }

  function converse(socket: Socket, talk: Talk): void {
    let rest = "";
    const say = (line: string) => void socket.write(`${line}\r\n`);
    const onData = (chunk: Buffer) => {
      rest += chunk.toString("latin1");
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (talk.data !== undefined) {
          listen(line, talk, say);
          continue;
        }
        if (/^STARTTLS/i.test(line)) {
          say("220 go ahead");
          socket.removeListener("data", onData);
          const secure = new TLSSocket(socket, { isServer: true, ...secrets });
          secure.on("error", () => undefined);
          converse(secure, { ...talk, isEncrypted: true });
          return;
        }
        obey(line, talk, say);
      }
    };
    socket.on("data", onData);
  }

  /** A line of a mail; a dot alone ends it. */
  function listen(line: string, talk: Talk, say: (line: string) => void): void {
    if (line !== ".") {
      talk.data += `${line.replace(/^\./, "")}\r\n`;
      return;
    }
    letters.push(readLetter(talk));
    talk.data = undefined;
    say("250 taken");
  }

  function obey(line: string, talk: Talk, say: (line: string) => void): void {
    const [, verb = "", argument = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
    switch (verb.toUpperCase()) {
      case "EHLO": {
        const offers = ["AUTH PLAIN LOGIN", "8BITMIME"];
        if (tls === "starttls" && !talk.isEncrypted) offers.push("STARTTLS");
        say(
          [
            "250-mail.test",
            ...offers.slice(0, -1).map((offer) => `250-${offer}`),
            `250 ${offers.at(-1)}`,
          ].join("\r\n"),
        );
        return;
      }
      case "AUTH": {
        const [, account = "", password = ""] = Buffer.from(argument.replace(/^PLAIN /i, ""), "base64")
          .toString("utf8")
          .split("\0");
        talk.login = `${account}:${password}`;
        say(password === "wrong" ? "535 5.7.8 no" : "235 welcome");
        return;
      }
      case "MAIL":
        talk.from = /<(.*?)>/.exec(argument)?.[1] ?? "";
        say("250 ok");
        return;
      case "RCPT":
        if (emulator.refusal !== undefined) {
          say(emulator.refusal);
          return;
        }
        talk.to.push(/<(.*?)>/.exec(argument)?.[1] ?? "");
        say("250 ok");
        return;
      case "DATA":
        talk.data = "";
        say("354 go on");
        return;
      case "QUIT":
        say("221 bye");
        return;
      default:
        say("250 ok");
    }
  }

  const server: Server = tls === "implicit" ? createTlsServer(secrets, greet) : createServer(greet);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const emulator: SmtpEmulator = {
    port: address.port,
    letters,
    refusal: undefined,
    hang: false,
    get mostConnections() {
      return most;
    },
    async take(to) {
      const untilMs = Date.now() + TAKE_MS;
      while (Date.now() < untilMs) {
        const letter = letters.find((one) => one.to.includes(to) && !taken.has(one));
        if (letter) {
          taken.add(letter);
          return letter;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error(`no letter for ${to}`);
    },
    drop() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      emulator.drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return emulator;
}

/** `=?UTF-8?B?…?=` back into text. */
function decodeWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/gi, (_, text: string) => Buffer.from(text, "base64").toString("utf8"));
}

function readLetter(talk: Talk): ReceivedLetter {
  const raw = talk.data ?? "";
  const [head = "", ...body] = raw.split("\r\n\r\n");
  const headers: Record<string, string> = {};
  for (const line of head.replace(/\r\n[ \t]+/g, " ").split("\r\n")) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    headers[name.toLowerCase()] = value;
  }
  const text = body.join("\r\n\r\n");
  const isBase64 = headers["content-transfer-encoding"] === "base64";
  return {
    from: talk.from,
    to: [...talk.to],
    headers,
    subject: decodeWords(headers["subject"] ?? ""),
    html: isBase64 ? Buffer.from(text, "base64").toString("utf8") : text,
    isEncrypted: talk.isEncrypted,
    login: talk.login,
    raw,
  };
}
