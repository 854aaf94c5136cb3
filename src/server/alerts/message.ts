// What an alert says, before any target's own form: cleaned, bounded, and several of them as one. Pure.
import { ALERT_LEVEL_LABELS, type AlertLevel } from "#contract/alert-events.ts";
import type { Language } from "#contract/language.ts";
import { say } from "#server/locale/sentences.ts";
import { redactText } from "#server/log/texts.ts";

export type Level = AlertLevel | "over";

/** One alert as it is stored. */
export interface Part {
  readonly event: string;
  readonly about: string;
  readonly level: Level;
  readonly title: string;
  readonly content: string;
  /** Seconds. */
  readonly created_at: number;
}

export interface Message {
  readonly level: Level;
  /** With its level in front. */
  readonly title: string;
  readonly lines: readonly string[];
  /** The console; "" = its address is not set. */
  readonly link: string;
  readonly linkText: string;
  /** For programs: all that it tells. */
  readonly parts: readonly Part[];
}

const TITLE_LENGTH = 100;
const LINE_LENGTH = 300;
const LINES = 20;
/** Nothing behind is looked at. */
const LOOKED_AT = 20_000;
const LISTED = 15;
const LISTED_LENGTH = 160;

/** One line without controls, marks that turn the direction of text, and secrets. */
function cleanLine(text: string, length: number): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, " ").trim();
  const signs = Array.from(plain);
  return signs.length > length ? `${signs.slice(0, length - 1).join("")}…` : plain;
}

export function cleanTitle(text: string): string {
  return cleanLine(redactText(text.slice(0, LOOKED_AT)), TITLE_LENGTH);
}

/** Lines of bounded number and length, joined by line feeds. */
export function cleanContent(text: string): string {
  const lines = redactText(text.slice(0, LOOKED_AT))
    .split(/\r?\n/)
    .map((line) => cleanLine(line, LINE_LENGTH))
    .filter((line) => line !== "");
  const rest = lines.length > LINES ? [`……以及其他 ${lines.length - LINES} 行`] : [];
  return [...lines.slice(0, LINES), ...rest].join("\n");
}

const WORST: readonly Level[] = ["critical", "warning", "over", "info"];

export interface MessageSetting {
  readonly link: string;
  /** The operator's time zone. */
  readonly zone: string;
  readonly system: string;
  /** Of the target. */
  readonly language: Language;
}

/** Alerts as one message: alone as it is, several as a list with the newest first. */
export function messageOf(told: readonly Part[], { link, system, ...reader }: MessageSetting): Message {
  const { language } = reader;
  const parts = told.map((part) => saidIn(part, language));
  const linkText = say("打开控制台", language);
  const [first] = parts;
  const level = WORST.find((one) => parts.some((part) => part.level === one)) ?? "info";
  const label = levelIn(language, level);
  const head = language === "zh" ? `【${label}】` : `[${label}] `;
  if (first !== undefined && parts.length === 1) {
    const lines = first.content.split("\n").filter((line) => line !== "");
    const when = `${timeIn(reader, first.created_at)} · ${cleanLine(system, 40)}`;
    return { level, title: head + first.title, lines: [...lines, when], link, linkText, parts };
  }
  const newest = parts.toReversed();
  const lines = newest.slice(0, LISTED).map((part) => cleanLine(entryOf(part, reader), LISTED_LENGTH));
  const rest = parts.length - LISTED;
  if (rest > 0) lines.push(say(`另有 ${rest} 条较早的，见控制台的发送记录`, language));
  return {
    level,
    title: head + say(`${cleanLine(system, 40)} 有 ${parts.length} 条通知`, language),
    lines,
    link,
    linkText,
    parts: newest,
  };
}

/** A part in the language of its reader; what operators and upstreams wrote stays as it is. */
function saidIn(part: Part, language: Language): Part {
  if (language === "zh") return part;
  const lines = part.content.split("\n").map((line) => say(line, language));
  return { ...part, title: say(part.title, language), content: lines.join("\n") };
}

function levelIn(language: Language, level: Level): string {
  return say(ALERT_LEVEL_LABELS[level], language);
}

type Reader = Pick<MessageSetting, "zone" | "language">;

function entryOf({ created_at, level, title, content }: Part, reader: Reader): string {
  const { language } = reader;
  const detail = content.split("\n", 1)[0] ?? "";
  const colon = language === "zh" ? "：" : ": ";
  const head = `${timeIn(reader, created_at)} ${levelIn(language, level)} ${title}`;
  return detail === "" ? head : head + colon + detail;
}

const LOCALES: Readonly<Record<Language, string>> = { zh: "zh-CN", en: "en-US" };

function timeIn({ zone, language }: Reader, seconds: number): string {
  const form = { month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
  return new Intl.DateTimeFormat(LOCALES[language], { ...form, hourCycle: "h23", timeZone: zone }).format(
    seconds * 1_000,
  );
}
