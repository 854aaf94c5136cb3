// The server's sentences in the language of their reader. They are written in Chinese where they are thrown or composed; here,
// at the edge, each becomes its English. What a sentence is composed of is found again by the pattern of its template.
import type { Language } from "#contract/language.ts";
import { catalogs } from "./catalogs.ts";

const CHINESE = /[\u3400-\u9fff]/;
/** Words or punctuation. */
const LEFT = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
/** `{0}`, or `{0|row|rows}`: one word where the number is one, another where it is not. */
const SLOT = /\{(\d+)(?:\|([^|}]*)\|([^}]*))?\}/g;

const PLURALS = new Intl.PluralRules("en");

/** `{0}的{1}` fits much that others write. */
const SURE_WORDS = 4;

/** Chinese punctuation and what stands for it between English words. */
const JOINTS: Readonly<Record<string, string>> = {
  "：": ": ",
  "；": "; ",
  "，": ", ",
  "、": ", ",
  "。": ". ",
  "（": " (",
  "）": ")",
  "【": "[",
  "】": "] ",
};

interface Template {
  /** The words around the slots: one more than there are slots. */
  readonly words: readonly string[];
  /** Their numbers, in the order of the Chinese. */
  readonly slots: readonly number[];
  readonly english: string;
  /** It has so many words of its own that a sentence is surely ours, though what was put into it stays Chinese. */
  readonly isSure: boolean;
}

/** By their first letter; those that begin with a slot under "". */
type Templates = ReadonlyMap<string, readonly Template[]>;

let known: { readonly whole: ReadonlyMap<string, string>; readonly templates: Templates } | undefined;

/** What may still be tried for one sentence: upstreams and clients can send any text, and it must not take long. */
interface Work {
  left: number;
}

const MOST_TRIES = 200;
/** Longer texts are looked for as they are alone. Unit: characters. */
const LONGEST = 1_000;

/** A sentence in a language; one that is not the program's own (an upstream's, an operator's) stays as it is. */
export function say(sentence: string, language: Language): string {
  return language === "zh" ? sentence : english(sentence, { left: MOST_TRIES });
}

function english(sentence: string, work: Work): string {
  if (!CHINESE.test(sentence)) return sentence;
  known ??= learn();
  const whole = known.whole.get(sentence);
  work.left -= 1;
  if (whole !== undefined || work.left < 0 || sentence.length > LONGEST) return whole ?? sentence;
  const composed = byTemplate(sentence, known.templates, work);
  if (composed !== undefined && !LEFT.test(composed)) return composed;
  return joined(sentence, work) ?? composed ?? sentence;
}

/** By the first template that makes all of it English, else by the first that is surely ours: with a name in Chinese. */
function byTemplate(sentence: string, templates: Templates, work: Work): string | undefined {
  let best: string | undefined;
  for (const first of [sentence.slice(0, 1), ""]) {
    for (const template of templates.get(first) ?? []) {
      const values = valuesIn(sentence, template);
      if (values === undefined) continue;
      const filled = fill(template, values, work);
      if (!LEFT.test(filled)) return filled;
      if (template.isSure) best ??= filled;
    }
  }
  return best;
}

/** What was joined of sentences, each in English; undefined when one of them is not the program's own. */
function joined(sentence: string, work: Work): string | undefined {
  for (const { 0: joint, index } of sentence.matchAll(/[：；，、。（）【】]/g)) {
    if (work.left <= 0) return undefined;
    const parenthesis = joint === "（" && sentence.endsWith("）") ? sentence.slice(index) : undefined;
    const head = english(sentence.slice(0, index), work);
    if (LEFT.test(head)) continue;
    const tail =
      parenthesis === undefined
        ? JOINTS[joint] + english(sentence.slice(index + 1), work)
        : english(parenthesis, work);
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
  const own = [...key.matchAll(/[\u3400-\u9fff]/g)].length;
  return {
    words: key.split(/\{\d+\}/),
    slots: [...key.matchAll(/\{(\d+)\}/g)].map((slot) => Number(slot[1])),
    english: text,
    isSure: own >= SURE_WORDS,
  };
}

/** What stands between the words of a template, each found as soon as it can be; undefined = the sentence is not made of them. */
function valuesIn(sentence: string, { words }: Template): string[] | undefined {
  const [first = "", ...rest] = words;
  if (!sentence.startsWith(first)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const [index, word] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const next = isLast ? sentence.length - word.length : sentence.indexOf(word, at);
    if (next < at || (isLast && !sentence.endsWith(word))) return undefined;
    values.push(sentence.slice(at, next));
    at = next + word.length;
  }
  return values;
}

function fill({ slots, english: text }: Template, found: readonly string[], work: Work): string {
  const values = new Map(slots.map((slot, index) => [slot, english(found[index] ?? "", work)]));
  return text.replace(SLOT, (_, slot: string, one?: string, many?: string) => {
    const value = values.get(Number(slot)) ?? "";
    if (one === undefined || many === undefined) return value;
    return PLURALS.select(Number(value)) === "one" ? one : many;
  });
}
