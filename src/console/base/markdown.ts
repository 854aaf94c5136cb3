// The little Markdown that notices and pages are written in, as HTML for the sanitiser. Pure. What it makes is still untrusted.

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);
}

/** Emphasis, code, links and pictures inside one line. Bounded patterns: no text makes them slow. */
function inline(text: string): string {
  // Code keeps its signs: the pieces at odd places are what stood between backquotes.
  return text
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? `<code>${escaped(part)}</code>` : marked(escaped(part))))
    .join("");
}

function marked(text: string): string {
  return text
    .replace(/!\[([^\][]{0,200})\]\(([^\s)]{1,2000})\)/g, '<img alt="$1" src="$2">')
    .replace(/\[([^\][]{1,500})\]\(([^\s)]{1,2000})\)/g, '<a href="$2">$1</a>')
    .replace(/(^|[\s（(])(https?:\/\/[^\s<）)]+)/g, '$1<a href="$2">$2</a>')
    .replace(/\*\*([^*]{1,2000})\*\*/g, "<strong>$1</strong>")
    .replace(/(^|[^*])\*([^*\s][^*]{0,2000})\*/g, "$1<em>$2</em>");
}

interface Block {
  /** What a line must be like to belong to the block. */
  readonly line: RegExp;
  readonly html: (lines: readonly string[]) => string;
}

function listHtml(tag: "ul" | "ol", sign: RegExp) {
  return (lines: readonly string[]) =>
    `<${tag}>${lines.map((line) => `<li>${inline(line.replace(sign, ""))}</li>`).join("")}</${tag}>`;
}

const BULLET = /^\s*[-*+]\s+/;
const NUMBER = /^\s*\d+[.)]\s+/;
const HEADING = /^(#{1,6}) (.*)$/;

const ROW = /^\s*\|.*\|\s*$/;
/** The second line of a table, cell by cell: it says on which side the cells of its column stand. */
const SIDE = /^(:?)-+(:?)$/;

function cellsOf(line: string): readonly string[] {
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function sideOf(cell: string): string {
  const [, left, right] = SIDE.exec(cell) ?? [];
  if (!right) return "";
  return left ? ' align="center"' : ' align="right"';
}

/** Rows of bars are a table when the second one is its rule; words between bars otherwise. */
function tableHtml(lines: readonly string[]): string {
  const [head, rule, ...rows] = lines.map(cellsOf);
  if (head === undefined || !rule?.every((cell) => SIDE.test(cell))) return PARAGRAPH.html(lines);
  const sides = rule.map(sideOf);
  const row = (tag: "th" | "td", cells: readonly string[]) =>
    `<tr>${head.map((_name, at) => `<${tag}${sides[at] ?? ""}>${inline(cells[at] ?? "")}</${tag}>`).join("")}</tr>`;
  const body = rows.map((cells) => row("td", cells)).join("");
  return `<table><thead>${row("th", head)}</thead><tbody>${body}</tbody></table>`;
}

const BLOCKS: readonly Block[] = [
  { line: /^\s*$/, html: () => "" },
  { line: /^\s*([-*_])(?:\s*\1){2,}\s*$/, html: () => "<hr>" },
  {
    line: HEADING,
    html: (lines) =>
      lines
        .map((line) => {
          const [, signs = "#", words = ""] = HEADING.exec(line) ?? [];
          return `<h${signs.length}>${inline(words.trim())}</h${signs.length}>`;
        })
        .join(""),
  },
  { line: BULLET, html: listHtml("ul", BULLET) },
  { line: NUMBER, html: listHtml("ol", NUMBER) },
  { line: ROW, html: tableHtml },
  {
    line: /^\s*>/,
    html: (lines) =>
      `<blockquote>${lines.map((line) => inline(line.replace(/^\s*>\s?/, ""))).join("<br>")}</blockquote>`,
  },
];
const PARAGRAPH: Block = {
  line: /[\s\S]/,
  html: (lines) => `<p>${lines.map((line) => inline(line.trim())).join("<br>")}</p>`,
};

function blockOf(line: string): Block {
  return BLOCKS.find((block) => block.line.test(line)) ?? PARAGRAPH;
}

function proseHtml(text: string): string {
  let html = "";
  let kind: Block | undefined;
  let lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const next = blockOf(line);
    if (kind !== undefined && next !== kind) {
      html += kind.html(lines);
      lines = [];
    }
    kind = next;
    lines.push(line);
  }
  return kind === undefined ? html : html + kind.html(lines);
}

/** Markdown as HTML: headings, lists, quotes, rules, tables, fenced code, emphasis, links and pictures. */
export function markdownHtml(text: string): string {
  return text
    .split(/^```[^\n]*\n([\s\S]*?)^```[^\n]*$/m)
    .map((part, index) => (index % 2 === 1 ? `<pre><code>${escaped(part)}</code></pre>` : proseHtml(part)))
    .join("");
}

/** Whether a text is written in HTML rather than in Markdown. */
export function isHtml(text: string): boolean {
  return /<\/?[a-z][^<]*>/i.test(text);
}

/** The address when a text is nothing but an http(s) address: such a page is shown in a frame (requirements W3.2). */
export function addressIn(text: string): string | undefined {
  const trimmed = text.trim();
  return /^https?:\/\/\S+$/.test(trimmed) && URL.canParse(trimmed) ? trimmed : undefined;
}
