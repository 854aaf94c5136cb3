// What a report says of the machine that it was made on.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

/**
 * How long an idle processor of a guest of KVM waits for work before it is halted; "" where it is no such guest. Halted ones take 0.1 ms and
 * more to wake on some hosts, and a lone call wakes four threads one after another: it cannot be quick where they do not wait at all. Linux's
 * own setting is 200 µs.
 */
function haltText(): string {
  if (read("/sys/devices/system/cpu/cpuidle/current_driver") !== "haltpoll") return "";
  const pollNs = Number(read("/sys/module/haltpoll/parameters/guest_halt_poll_ns"));
  return `, idle ones halted after ${pollNs / 1000} µs`;
}

/** One line; `othersShare` is the part of its time that was taken by other work before the run. */
export function machineText(othersShare: number): string {
  const cores = `${availableParallelism()} cores shared with load and upstream${haltText()}`;
  return `Node ${process.version}, ${cores}, ${Math.round(othersShare * 100)} % busy with other work before the run`;
}
