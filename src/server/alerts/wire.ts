// A message in the form of each target, signed as its vendor asks. Texts can neither ring a member of a chat nor become a link: where a
// vendor renders marks, those are replaced by their wide twins (requirements I53). Pure.
import type { AlertKind } from "#contract/alert.ts";
import { hmacSha256 } from "#server/secrets.ts";
import type { Level, Message } from "./message.ts";
import type { Target } from "./targets.ts";

export interface Post {
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface Moment {
  readonly nowMs: number;
  /** The same in each try of a message. */
  readonly id: string;
  /** Instead of the vendors' hosts; undefined = theirs. */
  readonly vendorUrl: string | undefined;
}

/** Kinds that are reached by HTTP. */
export type PostKind = Exclude<AlertKind, "mail">;

type Posting = (target: Target, message: Message, moment: Moment) => Omit<Post, "headers"> & Partial<Post>;

const POSTINGS: Readonly<Record<PostKind, Posting>> = {
  feishu,
  dingtalk,
  wecom,
  telegram,
  slack,
  bark,
  webhook,
};

/** The request that brings a message to a target. */
export function postOf(kind: PostKind, target: Target, message: Message, moment: Moment): Post {
  const { url, body, headers = [] } = POSTINGS[kind](target, message, moment);
  return { url, body, headers: ["content-type", "application/json", ...headers] };
}

/** An address at a vendor's fixed host. */
function atVendor(address: string, { vendorUrl }: Moment): string {
  return vendorUrl === undefined ? address : vendorUrl + address.slice(new URL(address).origin.length);
}

const WIDE: Readonly<Record<string, string>> = {
  "<": "＜",
  ">": "＞",
  "[": "［",
  "]": "］",
  "@": "＠",
  "*": "＊",
  "`": "｀",
  "&": "＆",
  "\\": "＼",
};

/** A line in which nothing is a mark, and no member of a chat is named. */
function plainMarks(line: string): string {
  return line.replace(/[<>[\]@*`&\\]/g, (sign) => WIDE[sign] ?? sign).replace(/^#/, "＃");
}

function noMention(line: string): string {
  return line.replaceAll("@", "＠");
}

/** Lines in so many bytes of UTF-8 at most; `join` stands between them. */
export function linesWithin(lines: readonly string[], join: string, bytes: number): string {
  const kept: string[] = [];
  let left = bytes - 8;
  for (const line of lines) {
    left -= Buffer.byteLength(line) + Buffer.byteLength(join);
    if (left < 0) return [...kept, "……"].join(join);
    kept.push(line);
  }
  return kept.join(join);
}

const CARD_COLOURS: Readonly<Record<Level, string>> = {
  critical: "red",
  warning: "orange",
  info: "blue",
  over: "green",
};

/** HMAC over nothing, with time and secret as the key (vendors/feishu-robot). */
export function feishuSign(seconds: number, secret: string): string {
  return hmacSha256(`${seconds}\n${secret}`, "").toString("base64");
}

/** A card whose texts are plain: what looks like a mark stays one's own text. */
function feishu(
  { address, secret }: Target,
  { level, title, lines, link, linkText }: Message,
  moment: Moment,
) {
  const seconds = Math.floor(moment.nowMs / 1_000);
  const plain = (content: string) => ({ tag: "plain_text", content });
  const button = {
    tag: "button",
    text: plain(linkText),
    behaviors: [{ type: "open_url", default_url: link }],
  };
  const card = {
    schema: "2.0",
    header: { title: plain(title), template: CARD_COLOURS[level] },
    body: {
      elements: [
        { tag: "div", text: plain(linesWithin(lines, "\n", 16_000)) },
        ...(link === "" ? [] : [button]),
      ],
    },
  };
  const signed = secret === "" ? {} : { timestamp: String(seconds), sign: feishuSign(seconds, secret) };
  return {
    url: atVendor(address, moment),
    body: JSON.stringify({ ...signed, msg_type: "interactive", card }),
  };
}

/** HMAC over time and secret, with the secret as the key; for an address (vendors/dingtalk-robot). */
export function dingtalkSign(nowMs: number, secret: string): string {
  return encodeURIComponent(hmacSha256(secret, `${nowMs}\n${secret}`).toString("base64"));
}

function dingtalk({ address, secret }: Target, { title, lines, link, linkText }: Message, moment: Moment) {
  const { nowMs } = moment;
  const signed = secret === "" ? "" : `&timestamp=${nowMs}&sign=${dingtalkSign(nowMs, secret)}`;
  const text = [
    `### ${plainMarks(title)}`,
    linesWithin(lines.map(plainMarks), "\n\n", 16_000),
    ...(link === "" ? [] : [`[${linkText}](${encodeURI(link)})`]),
  ].join("\n\n");
  const markdown = { title: plainMarks(title), text };
  return {
    url: atVendor(address, moment) + signed,
    body: JSON.stringify({ msgtype: "markdown", markdown, at: { isAtAll: false } }),
  };
}

const FONTS: Readonly<Record<Level, string>> = {
  critical: "warning",
  warning: "warning",
  info: "comment",
  over: "info",
};

/** At most 4,096 bytes of Markdown (vendors/wecom-robot). */
function wecom({ address }: Target, { level, title, lines, link, linkText }: Message, moment: Moment) {
  const content = [
    `<font color="${FONTS[level]}">**${plainMarks(title)}**</font>`,
    linesWithin(
      lines.map((line) => `> ${plainMarks(line)}`),
      "\n",
      3_000,
    ),
    ...(link === "" ? [] : [`[${linkText}](${encodeURI(link)})`]),
  ].join("\n");
  return {
    url: atVendor(address, moment),
    body: JSON.stringify({ msgtype: "markdown", markdown: { content } }),
  };
}

/** Text without a parse mode, up to 4,096 signs (vendors/telegram). */
function telegram({ secret, to }: Target, { title, lines, link }: Message, moment: Moment) {
  const text = [title, linesWithin(lines, "\n", 3_500), ...(link === "" ? [] : [link])].map(noMention);
  return {
    url: atVendor(`https://api.telegram.org/bot${secret}/sendMessage`, moment),
    body: JSON.stringify({
      chat_id: to,
      text: text.join("\n\n"),
      link_preview_options: { is_disabled: true },
    }),
  };
}

function slackEscape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Blocks of plain text; the fallback is escaped (vendors/slack). */
function slack({ address }: Target, { title, lines, link, linkText }: Message, moment: Moment) {
  const plain = (text: string) => ({ type: "plain_text", text, emoji: false });
  const opens = { type: "mrkdwn", text: `<${encodeURI(link)}|${linkText}>` };
  const blocks = [
    { type: "header", text: plain(noMention(title).slice(0, 150)) },
    { type: "section", text: plain(noMention(linesWithin(lines, "\n", 2_900))) },
    ...(link === "" ? [] : [{ type: "section", text: opens }]),
  ];
  return {
    url: atVendor(address, moment),
    body: JSON.stringify({ text: slackEscape(noMention(title)), blocks }),
  };
}

const RINGS: Readonly<Record<Level, string>> = {
  critical: "timeSensitive",
  warning: "active",
  info: "passive",
  over: "active",
};

function bark({ address, secret }: Target, { level, title, lines, link }: Message) {
  return {
    url: `${address}/push`,
    body: JSON.stringify({
      device_key: secret,
      title,
      body: linesWithin(lines, "\n", 3_000),
      level: RINGS[level],
      group: "Tollgate",
      ...(link === "" ? {} : { url: link }),
    }),
  };
}

/** Standard Webhooks: HMAC over id, time and body, with what stands behind `whsec_` as the key (vendors/standard-webhooks). */
export function webhookSign(id: string, seconds: number, { secret, body }: { secret: string; body: string }) {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${hmacSha256(key, `${id}.${seconds}.${body}`).toString("base64")}`;
}

function webhook({ address, secret }: Target, { level, title, parts, link }: Message, moment: Moment) {
  const seconds = Math.floor(moment.nowMs / 1_000);
  const body = JSON.stringify({
    type: "alert",
    timestamp: new Date(moment.nowMs).toISOString(),
    data: { level, title, link, alerts: parts },
  });
  return {
    url: address,
    body,
    headers: [
      ...["webhook-id", moment.id, "webhook-timestamp", String(seconds)],
      ...["webhook-signature", webhookSign(moment.id, seconds, { secret, body })],
    ],
  };
}
