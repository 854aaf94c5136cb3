// Patterns in the conditions of a channel's rules, where `*` stands for anything. Pure.

/** Whether texts are like a pattern. Clients choose the texts, and of any length: each part is looked for once, from left to right. */
export function globOf(pattern: string): (text: string) => boolean {
  const [head = "", ...parts] = pattern.split("*");
  const tail = parts.pop();
  if (tail === undefined) return (text) => text === head;
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail)) return false;
    let at = head.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= text.length - tail.length;
  };
}
