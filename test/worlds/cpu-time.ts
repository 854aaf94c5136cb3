// What a piece of work costs, for tests that nothing takes the square of its length.

/** CPU time of synchronous work in ms; a machine that is busy with other things makes it hardly longer, unlike the clock's. */
export function cpuMsOf(work: () => void): number {
  const begun = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}
