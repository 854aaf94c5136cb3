// The wait before something may be sent again: 30 s after the first time, 300 s after every later one (requirements B4).
import { useEffect, useState } from "react";

const FIRST_S = 30;
const LATER_S = 300;

/** Seconds to wait after the n-th sending, counted from 1. */
export function waitAfter(sending: number): number {
  return sending <= 1 ? FIRST_S : LATER_S;
}

export interface Countdown {
  /** Seconds left; 0 = may be sent now. */
  readonly left: number;
  /** Starts the wait that follows a sending. */
  readonly start: () => void;
}

/** Counts down once a second while it runs. */
export function useCountdown(): Countdown {
  const [sendings, setSendings] = useState(0);
  const [left, setLeft] = useState(0);
  const isRunning = left > 0;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setLeft((seconds) => Math.max(0, seconds - 1)), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return {
    left,
    start: () => {
      setSendings(sendings + 1);
      setLeft(waitAfter(sendings + 1));
    },
  };
}
