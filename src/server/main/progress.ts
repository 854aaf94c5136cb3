// How far a long command is: on a terminal one line that is written over, elsewhere a line at each power of ten.

/** What of standard output is needed. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface Progress {
  show(count: number): void;
  /** Ends the line that is written over. */
  end(): void;
}

/** Where no terminal is, the first count that is told. */
const FIRST_TOLD = 10_000;

/** Shows counts of what `label` names; they only grow. */
export function createProgress(label: string, screen: Screen): Progress {
  let next = FIRST_TOLD;
  let isOpen = false;
  return {
    show(count) {
      if (screen.isTTY) {
        screen.write(`\r${label}: ${count}`);
        isOpen = true;
      } else if (count >= next) {
        screen.write(`${label}: ${count}\n`);
        while (next <= count) next *= 10;
      }
    },
    end() {
      if (isOpen) screen.write("\n");
      isOpen = false;
    },
  };
}
