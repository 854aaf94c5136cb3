// Opens a connection through a proxy: to the proxy, the handshake with it, and TLS with the destination inside. Every failure has the
// name of who is to blame.
import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { guardedLookup, isAllowed, resolveFor } from "#server/egress/lookup.ts";
import { judgeName, type Policy } from "#server/egress/policy.ts";
import { BlockedError, type EgressFault, faultOf } from "#server/egress/send.ts";
import { randomHex } from "#server/secrets.ts";
import type { Login, ProxyServer } from "./address.ts";
import { type ProxyHandshake, proxyFailure, type TunnelTarget } from "./handshake.ts";
import type { ProxyHealth, TunnelReport } from "./health.ts";
import { ConnectHandshake } from "./http-connect.ts";
import { LONGEST_NAME_BYTES, Socks5Handshake } from "./socks5.ts";

/** A proxy, and what judges addresses on the way. */
export interface ProxyPath {
  readonly proxy: ProxyServer;
  /** Judges the address of the proxy itself (requirements C12). */
  readonly proxyPolicy: Policy;
  /** Judges the destination. */
  readonly policy: Policy;
  /** As the proxy's own, or `us` where the destination came from a caller. */
  readonly resolves: ProxyServer["resolves"];
  /** The destination came from a caller: what becomes of it says nothing of the proxy. */
  readonly isCallers: boolean;
  readonly health: ProxyHealth;
}

/** For TCP, TLS and handshake with the proxy; then again for TLS with the destination; unless the target has a limit for all of it. */
const HALF_MS = 10_000;

export interface TunnelEnd extends TunnelTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Options of TLS with the destination; undefined = plain. */
  readonly tls: ConnectionOptions | undefined;
  /** For the whole way to the destination (requirements C41); undefined = each half has its usual time. Unit: ms. */
  readonly connectMs: number | undefined;
}

/** `{random}` in the user is another text for each tunnel: sellers of exits give each user another address (requirements C63). */
function freshLogin(login: Login | undefined): Login | undefined {
  if (login?.user.includes("{random}") !== true) return login;
  return { ...login, user: login.user.replaceAll("{random}", randomHex(16)) };
}

/** A socket to the destination, paused and without listeners, or a fault. */
export type TunnelResult = { readonly socket: Socket } | EgressFault;

/** A tunnel that is being opened. */
export class Tunnel {
  readonly #path: ProxyPath;
  readonly #end: TunnelEnd;
  readonly #report: TunnelReport;
  readonly #begunMs = performance.now();
  #onDone: ((result: TunnelResult) => void) | undefined;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unwatch = (): void => undefined;
  /** The proxy was reached, and asked for the destination. */
  #isAsked = false;

  /** Begins at once; `onDone` is called once, later, unless the tunnel is destroyed before. */
  constructor(path: ProxyPath, end: TunnelEnd, onDone: (result: TunnelResult) => void) {
    this.#path = path;
    this.#end = end;
    this.#onDone = onDone;
    this.#report = path.health.opening(path.proxy, end.origin);
    this.#arm(proxyFailure("proxy_unreachable", "no tunnel in time"));
    // Never before the constructor is through.
    setImmediate(() => {
      if (this.#onDone !== undefined) this.#findTarget((target) => this.#connect(target));
    });
  }

  destroy(): void {
    if (this.#take() !== undefined) this.#report({ code: "aborted", detail: "" });
    this.#socket?.destroy();
  }

  /** What the proxy is asked for. Where we resolve, it gets exactly the address that was judged (requirements C11). */
  #findTarget(found: (target: TunnelTarget) => void): void {
    const { policy, resolves } = this.#path;
    const { host, port } = this.#end;
    if (resolves === "us" && isIP(host) === 0) {
      resolveFor(policy, host, port, (error, address) => {
        if (this.#onDone === undefined) return;
        if (error === null) found({ host: address, port });
        else this.#finish(faultOf(error));
      });
      return;
    }
    const refusal = judgeName(host, port, policy);
    const isLong = Buffer.byteLength(host) > LONGEST_NAME_BYTES;
    if (refusal !== undefined) this.#finish(faultOf(new BlockedError(`${host}:${port}, ${refusal}`)));
    else if (isLong) this.#finish({ code: "dns", detail: "a name that no proxy can be asked for" });
    else found({ host, port });
  }

  #connect(target: TunnelTarget): void {
    const { proxy, proxyPolicy } = this.#path;
    if (this.#onDone === undefined) return;
    const { host, port, kind } = proxy;
    const isLiteral = isIP(host) !== 0;
    if (isLiteral && !isAllowed(proxyPolicy, host, port)) {
      this.#finish(proxyFailure("proxy_unreachable", "the address of the proxy is not allowed"));
      return;
    }
    const options = { host, port, lookup: guardedLookup(proxyPolicy, port) };
    // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (requirements R22).
    const tls = { servername: isLiteral ? "" : host, rejectUnauthorized: true };
    const socket = kind === "https" ? connectTls({ ...options, ...tls }) : connect(options);
    this.#watch(socket, (error) => proxyFailure("proxy_unreachable", detailOf(error)));
    socket.setNoDelay(true);
    socket.once(kind === "https" ? "secureConnect" : "connect", () => this.#shakeHands(socket, target));
  }

  #shakeHands(socket: Socket, target: TunnelTarget): void {
    const { kind } = this.#path.proxy;
    const login = freshLogin(this.#path.proxy.login);
    const handshake: ProxyHandshake =
      kind === "socks5" ? new Socks5Handshake(target, login) : new ConnectHandshake(target, login);
    const onData = (bytes: Buffer) => {
      const step = handshake.feed(bytes);
      if (step.kind === "say") socket.write(step.bytes);
      else if (step.kind === "failed") this.#finish(step.fault);
      else if (step.kind === "open") {
        socket.off("data", onData);
        this.#onTunnel(socket);
      }
    };
    socket.on("data", onData);
    this.#isAsked = true;
    socket.write(handshake.begin());
  }

  #onTunnel(socket: Socket): void {
    const { tls } = this.#end;
    socket.pause();
    if (tls === undefined) {
      this.#finish({ socket });
      return;
    }
    this.#arm(proxyFailure("proxy_target", "no TLS with the destination in time"));
    this.#unwatch();
    const inner: TLSSocket = connectTls({ ...tls, socket });
    this.#watch(inner, (error) => tlsFault(error));
    inner.once("secureConnect", () => this.#finish({ socket: inner }));
  }

  /** Until the tunnel stands, every end of this socket is a fault. */
  #watch(socket: Socket, fault: (error: unknown) => EgressFault): void {
    this.#socket = socket;
    const onError = (error: unknown) => this.#finish(fault(error));
    const onEnd = () => this.#finish(fault(undefined));
    socket.on("error", onError).on("end", onEnd).on("close", onEnd);
    this.#unwatch = () => {
      socket.off("error", onError).off("end", onEnd).off("close", onEnd);
      // An error between two owners must not end the process.
      socket.on("error", () => undefined);
    };
  }

  #finish(result: TunnelResult): void {
    const done = this.#take();
    if (done === undefined) return;
    if ("code" in result) {
      this.#socket?.destroy();
      const fault = this.#isCallersFault(result) ? callersFault(result) : result;
      done(this.#report(fault) ?? fault);
      return;
    }
    this.#unwatch();
    this.#report(undefined);
    done(result);
  }

  /** A caller can name what is dead, barred, silent or speaks first: of the proxy only its refusal of our credentials says something then. */
  #isCallersFault({ code }: EgressFault): boolean {
    return this.#path.isCallers && this.#isAsked && code !== "proxy_auth";
  }

  #take() {
    const done = this.#onDone;
    this.#onDone = undefined;
    clearTimeout(this.#timer);
    return done;
  }

  /** From now on a standstill is this fault: of the proxy at first, then of what is behind it. */
  #arm(fault: EgressFault): void {
    const { connectMs } = this.#end;
    const ms = connectMs === undefined ? HALF_MS : connectMs - (performance.now() - this.#begunMs);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#finish(fault), ms);
  }
}

/** The proxy was reached: what failed is behind it. */
function callersFault({ code, detail }: EgressFault): EgressFault {
  return { code: code === "proxy_unreachable" ? "proxy_target" : code, detail };
}

function detailOf(error: unknown): string {
  return error === undefined ? "the proxy closed the connection" : faultOf(error).detail;
}

/** The proxy intercepts TLS, more likely than not; a connection that ends instead says little about who ended it. */
function tlsFault(error: unknown): EgressFault {
  const fault = error === undefined ? undefined : faultOf(error);
  if (fault?.code === "tls") return { ...fault, isProxy: true };
  return proxyFailure("proxy_target", fault?.detail ?? "the tunnel ended during the TLS handshake");
}
