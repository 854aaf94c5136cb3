// Files that the browser makes: their names are cleaned (requirements H10).

const NAME_LENGTH = 60;

/** A text as the name of a file, without its ending: no paths, no control characters, no leading dots; never empty. */
export function cleanFileName(text: string, fallback: string): string {
  const plain = text
    .normalize("NFKC")
    // What is neither a letter, a digit nor a harmless sign: separators, quotes, control and direction characters.
    .replace(/[^\p{L}\p{N} ._-]+/gu, "_")
    .replace(/^[\s._-]+|[\s._-]+$/g, "");
  return [...plain].slice(0, NAME_LENGTH).join("") || fallback;
}

export interface TextFile {
  /** With its ending; clean it first. */
  readonly name: string;
  readonly text: string;
  readonly type: "text/plain" | "text/csv";
}

/** Gives a file to the browser's downloads. */
export function downloadText({ name, text, type }: TextFile): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has read the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
