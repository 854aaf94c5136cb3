// Finds the Chinese texts of a source: strings, templates, and the children of JSX elements as one text each. Chinese is the
// source of the console's language, and each text is its own key, as with gettext.
import { parseSync } from "rolldown/utils";

/** Words, and the punctuation that stands between them. */
const CHINESE = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;

/** A range of the source. Unit: UTF-16 code units. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** One text of a source. */
export interface Text extends Range {
  readonly kind: "string" | "attribute" | "template" | "children";
  /** The text; what is put into it stands as `{0}`, `{1}`, … */
  readonly key: string;
  /** What is put in, by number; within a template the expression, among children the child. */
  readonly slots: readonly Slot[];
}

export interface Slot extends Range {
  /** The expression alone, for a child that is one; the same range otherwise. */
  readonly value: Range;
}

interface Node extends Range {
  readonly type: string;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** Types are no text; these wrap values. */
const WRAPPERS = /^TS(As|Satisfies|NonNull|Instantiation|TypeAssertion|Parameter)/;

/** Each text of the source, outer ones before those within what is put into them. Throws: when the source does not parse. */
export function textsIn(path: string, source: string): Text[] {
  if (!CHINESE.test(source)) return [];
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const found: Text[] = [];
  visit(program as unknown as Node, undefined, found);
  return found.sort((one, other) => one.start - other.start || other.end - one.end);
}

function visit(node: Node, parent: Node | undefined, found: Text[]): void {
  if (node.type.startsWith("TS") && !WRAPPERS.test(node.type)) return;
  const text = textOf(node, parent);
  if (text !== undefined && CHINESE.test(text.key)) found.push(text);
  for (const inner of innerNodes(node)) visit(inner, node, found);
}

function innerNodes(node: Node): Node[] {
  // The name of a property is no text.
  const isNamed = node.type === "Property" && node["computed"] !== true;
  const values = Object.entries(node).filter(([field]) => !(isNamed && field === "key"));
  return values.flatMap(([, value]) => value).filter(isNode);
}

function textOf(node: Node, parent: Node | undefined): Text | undefined {
  const { start, end } = node;
  if (node.type === "Literal" && typeof node["value"] === "string") {
    // Counted among the children of its element.
    if (parent?.type === "JSXExpressionContainer" && isAmongText(parent)) return undefined;
    const kind = parent?.type === "JSXAttribute" ? "attribute" : "string";
    return { start, end, kind, key: node["value"], slots: [] };
  }
  if (node.type === "TemplateLiteral" && parent?.type !== "TaggedTemplateExpression")
    return templateText(node);
  if (node.type === "JSXElement" || node.type === "JSXFragment") return childrenText(node);
  return undefined;
}

/** Set for the literals that `childrenText` took, so that they are not found again. */
const amongText = new WeakSet<Node>();
function isAmongText(container: Node): boolean {
  return amongText.has(container);
}

function templateText(node: Node): Text {
  const parts = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  const slots = (node["expressions"] as readonly Node[]).map(({ start, end }) => ({
    start,
    end,
    value: { start, end },
  }));
  const key = parts
    .map(({ value }, index) => value.cooked + (index < slots.length ? `{${index}}` : ""))
    .join("");
  return { start: node.start, end: node.end, kind: "template", key, slots };
}

/** The children of an element as one text; undefined when no words stand among them. */
function childrenText(node: Node): Text | undefined {
  const children = node["children"] as readonly Node[];
  const first = children[0];
  const last = children.at(-1);
  if (first === undefined || last === undefined) return undefined;
  if (!children.some((child) => child.type === "JSXText" && CHINESE.test(String(child["value"]))))
    return undefined;
  const slots: Slot[] = [];
  let key = "";
  for (const child of children) {
    const words = wordsOf(child);
    if (words !== undefined) {
      key += words;
      continue;
    }
    const expression = child["expression"];
    if (isNode(expression) && expression.type === "JSXEmptyExpression") continue;
    key += `{${slots.length}}`;
    const { start, end } = child;
    slots.push({
      start,
      end,
      value: child.type === "JSXExpressionContainer" && isNode(expression) ? expression : child,
    });
  }
  return { start: first.start, end: last.end, kind: "children", key, slots };
}

/** The words that a child of an element is; undefined when it is something else. */
function wordsOf(child: Node): string | undefined {
  if (child.type === "JSXText") return asRendered(String(child["value"]));
  const expression = child["expression"];
  if (child.type !== "JSXExpressionContainer" || !isNode(expression)) return undefined;
  if (expression.type !== "Literal" || typeof expression["value"] !== "string") return undefined;
  amongText.add(child);
  return expression["value"];
}

/** Text between tags as React renders it: lines are trimmed and joined by a space. */
function asRendered(text: string): string {
  const lines = text.split(/\r?\n/);
  const trimmed = lines.map((line, index) => {
    const start = index === 0 ? line : line.trimStart();
    return index === lines.length - 1 ? start : start.trimEnd();
  });
  return trimmed.filter((line) => line !== "").join(" ");
}
