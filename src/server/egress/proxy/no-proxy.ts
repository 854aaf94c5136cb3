// NO_PROXY: destinations that the environment wants to be reached directly (requirements C09). Pure.
import { BlockList, isIP } from "node:net";

/** What is asked about: an IPv6 address without brackets. */
export interface Asked {
  readonly host: string;
  readonly port: number;
}

/** Reads NO_PROXY once. An entry that cannot be read matches nothing. */
export function readNoProxy(text: string): (asked: Asked) => boolean {
  const entries = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(readEntry);
  return ({ host, port }) => {
    const name = withoutDot(host.toLowerCase());
    return entries.some((matches) => matches(name, port));
  };
}

type Matches = (host: string, port: number) => boolean;

function readEntry(entry: string): Matches {
  if (entry === "*") return () => true;
  const network = readNetwork(entry);
  if (network !== undefined) return network;
  const [, bracketed, bare = "", portText] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  const literal = bracketed ?? (isIP(entry) === 6 ? entry : bare);
  if (isIP(literal) !== 0) return forNetwork(literal, isIP(literal) === 6 ? 128 : 32, port);
  const name = withoutDot(bare.replace(/^\*?\./, ""));
  if (bracketed !== undefined || name === "") return () => false;
  return (host, asked) =>
    (port ?? asked) === asked && isIP(host) === 0 && (host === name || host.endsWith(`.${name}`));
}

/** A CIDR; it matches literal destinations only, since names are not resolved here. */
function readNetwork(entry: string): Matches | undefined {
  const [, address = "", prefix = ""] = /^\[?([0-9a-f.:]+)\]?\/(\d{1,3})$/.exec(entry) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  return Number(prefix) > (version === 6 ? 128 : 32)
    ? () => false
    : forNetwork(address, Number(prefix), undefined);
}

function forNetwork(address: string, prefix: number, port: number | undefined): Matches {
  const list = new BlockList();
  list.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  return (host, asked) => {
    const version = isIP(host);
    return version !== 0 && (port ?? asked) === asked && list.check(host, version === 6 ? "ipv6" : "ipv4");
  };
}

function withoutDot(host: string): string {
  return host.replace(/\.$/, "");
}
