// The server's sentences in the language of their reader. They are written in Chinese where they are thrown or composed; here,
// at the edge, each becomes its English. What a sentence is composed of is found again by the pattern of its template.
import type { Language } from "#contract/language.ts";
import { catalogs } from "./catalogs.ts";

const CHINESE = /[\u3400-\u9fff]/;
/** Words or punctuation. */
const LEFT = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
/** `{0}`, or `{0|row|rows}`: one word where the number is one, another where it is not. */
const SLOT = /\{(\d+)(?:\|([^|}]*)\|([^}]*))?\}/g;

/** Chinese punctuation and what stands for it between English words. */
const JOINTS: Readonly<Record<string, string>> = {
  ...{
    "：": ": ",
    "；": "; ",
    "，": ", ",
    "、": ", ",
    "。": ". ",
    "（": " (",
    "）": ")",
    "【": "[",
    "】": "] ",
  },
};

interface Template {
  readonly pattern: RegExp;
  /** Number of the slot for each group of the pattern. */
  readonly slots: readonly number[];
  readonly english: string;
}

/** By their first letter; those that begin with a slot under "". */
type Templates = ReadonlyMap<string, readonly Template[]>;

let known: { readonly whole: ReadonlyMap<string, string>; readonly templates: Templates } | undefined;

/** A sentence in a language; one that nobody wrote for us (an upstream's, an operator's) stays as it is. */
export function say(sentence: string, language: Language): string {
  return language === "zh" || !CHINESE.test(sentence) ? sentence : english(sentence);
}

function english(sentence: string): string {
  known ??= learn();
  const whole = known.whole.get(sentence);
  if (whole !== undefined) return whole;
  let best: string | undefined;
  for (const first of [sentence.slice(0, 1), ""]) {
    for (const template of known.templates.get(first) ?? []) {
      const found = template.pattern.exec(sentence);
      if (!found) continue;
      const filled = fill(template, found.slice(1));
      if (!LEFT.test(filled)) return filled;
      // A name in Chinese, or a template that took more than its own words.
      best ??= filled;
    }
  }
  return joined(sentence) ?? best ?? sentence;
}

/** What was joined of sentences, each in English; undefined when one of them is nobody's. */
function joined(sentence: string): string | undefined {
  for (const { 0: joint, index } of sentence.matchAll(/[：；，、。（）【】]/g)) {
    const parenthesis = joint === "（" && sentence.endsWith("）") ? sentence.slice(index) : undefined;
    const head = say(sentence.slice(0, index), "en");
    if (LEFT.test(head)) continue;
    const tail =
      parenthesis === undefined
        ? JOINTS[joint] + say(sentence.slice(index + 1), "en")
        : say(parenthesis, "en");
    if (!LEFT.test(tail)) return `${head}${tail}`.trim();
  }
  return undefined;
}

function learn(): NonNullable<typeof known> {
  const entries = catalogs.flatMap((catalog) => Object.entries(catalog));
  const composed = entries.filter(([key]) => /\{\d+\}/.test(key) && CHINESE.test(key));
  // Those with most words first, so that `{0}：{1}` takes no sentence that has one of its own.
  const words = (key: string) => key.replace(/\{\d+\}/g, "").length;
  composed.sort(([one], [other]) => words(other) - words(one));
  const templates = new Map<string, Template[]>();
  for (const [key, text] of composed) {
    const first = key.startsWith("{") ? "" : key.slice(0, 1);
    const list = templates.get(first) ?? [];
    list.push(templateOf(key, text));
    templates.set(first, list);
  }
  return { whole: new Map(entries), templates };
}

function templateOf(key: string, text: string): Template {
  const slots = [...key.matchAll(/\{(\d+)\}/g)].map((slot) => Number(slot[1]));
  const parts = key.split(/\{\d+\}/).map((words) => words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return { pattern: new RegExp(`^${parts.join("([^]*?)")}$`), slots, english: text };
}

function fill({ slots, english: text }: Template, groups: readonly string[]): string {
  const values = new Map(slots.map((slot, index) => [slot, say(groups[index] ?? "", "en")]));
  return text.replace(SLOT, (_, slot: string, one?: string, many?: string) => {
    const value = values.get(Number(slot)) ?? "";
    if (one === undefined || many === undefined) return value;
    return value === "1" ? one : many;
  });
}
